// SPDX-License-Identifier: Apache-2.0
#include "robots/pusht_image.h"

#include <cmath>
#include <cstdlib>
#include <utility>

#include "robots/canvas.h"

namespace fib::robots {
namespace {

struct Rgb {
  uint8_t red, green, blue;
};

enum Ink : uint8_t { ground, goal_ink, block_ink, block_light, wall_ink, agent_ink, agent_light };

/// LightGreen, LightSlateGray, LightGray and RoyalBlue; the light ones are 1.2 times as bright.
constexpr Rgb kPalette[] = {{255, 255, 255}, {144, 238, 144}, {119, 136, 153}, {143, 163, 184},
                            {211, 211, 211}, {65, 105, 225},  {78, 126, 255}};

/// Chipmunk's color of contact points in pymunk.
constexpr Rgb kMark{231, 76, 60};

constexpr int kOutlineRadius = 2;

/// Halves go to the even neighbour, as in Python.
int whole(double v) { return static_cast<int>(std::nearbyint(v)); }
Pixel whole(Point p) { return {whole(p.x), whole(p.y)}; }

/// A line, and over it a quadrilateral and two discs that are to round it. Their offset is (|dy|, |dx|), without signs:
/// right for lines that fall to the left, askew for the others. The recordings show it.
void outline(Canvas& canvas, Pixel a, Pixel b, int radius, uint8_t ink) {
  canvas.thick_line(a, b, 2 * radius, ink);
  const double dx = std::abs(b.x - a.x), dy = std::abs(b.y - a.y);
  if (dx == 0 && dy == 0) return;
  const double scale = radius / std::sqrt(dx * dx + dy * dy);
  const int across = whole(dy * scale), down = whole(dx * scale);
  const Pixel corners[] = {
      {a.x - across, a.y - down}, {a.x + across, a.y + down}, {b.x + across, b.y + down}, {b.x - across, b.y - down}};
  canvas.fill_polygon(corners, ink);
  canvas.fill_disc(a, radius, ink);
  canvas.fill_disc(b, radius, ink);
}

std::array<Pixel, 4> pixels_of(const Rectangle& rectangle, const Pose& pose) {
  const Rectangle world = placed(rectangle, pose);
  return {whole(world[0]), whole(world[1]), whole(world[2]), whole(world[3])};
}

void draw_block(Canvas& canvas, const Pose& pose) {
  for (const Rectangle& rectangle : kTee) {
    const auto corners = pixels_of(rectangle, pose);
    canvas.fill_polygon(corners, block_light);
    for (size_t i = 0; i < corners.size(); ++i) {
      outline(canvas, corners[i], corners[(i + 1) % corners.size()], kOutlineRadius, block_ink);
    }
  }
}

void draw_walls(Canvas& canvas) {
  constexpr int near = static_cast<int>(kWallNear), far = static_cast<int>(kWallFar);
  constexpr int radius = static_cast<int>(kWallRadius);
  outline(canvas, {near, far}, {near, near}, radius, wall_ink);
  outline(canvas, {near, near}, {far, near}, radius, wall_ink);
  outline(canvas, {far, near}, {far, far}, radius, wall_ink);
  outline(canvas, {near, far}, {far, far}, radius, wall_ink);
}

Canvas with_goal() {
  Canvas canvas(kCanvasSize);
  for (const Rectangle& rectangle : kTee) canvas.fill_polygon(pixels_of(rectangle, kGoal), goal_ink);
  return canvas;
}

/// Indices, and the colors they stand for: the palette, and those that marks of contacts mix.
struct DrawnImage {
  Canvas canvas;
  std::vector<Rgb> colors;

  Rgb at(int x, int y) const { return colors[canvas.at(x, y)]; }
};

uint8_t mixed(double share, uint8_t over, uint8_t under) {
  return static_cast<uint8_t>(share * over + (1 - share) * under);
}

/// A share of the mark's color over what is there.
void tint(DrawnImage& image, int x, int y, double share) {
  const bool inside = x >= 0 && y >= 0 && x < image.canvas.size() && y < image.canvas.size();
  if (!inside || share <= 0 || image.colors.size() > UINT8_MAX) return;
  const Rgb under = image.at(x, y);
  image.colors.push_back({mixed(share, kMark.red, under.red), mixed(share, kMark.green, under.green),
                          mixed(share, kMark.blue, under.blue)});
  image.canvas.set(x, y, static_cast<uint8_t>(image.colors.size() - 1));
}

/// A line of one pixel's width, shared between the two pixels it runs between.
void draw_mark(DrawnImage& image, Pixel from, Pixel to) {
  const bool steep = std::abs(to.x - from.x) < std::abs(to.y - from.y);
  if (steep) std::swap(from.x, from.y), std::swap(to.x, to.y);
  if (from.x > to.x) std::swap(from, to);
  const double slope = from.x == to.x ? 0 : static_cast<double>(to.y - from.y) / (to.x - from.x);
  for (int x = from.x; x <= to.x; ++x) {
    const double y = from.y + slope * (x - from.x), above = std::floor(y);
    for (int i = 0; i < 2; ++i) {
      const int at = static_cast<int>(above) + i;
      tint(image, steep ? at : x, steep ? x : at, i == 0 ? 1 - (y - above) : y - above);
    }
  }
}

DrawnImage drawn(const PushTScene& scene) {
  static const Canvas empty = with_goal();
  DrawnImage image{empty, {std::begin(kPalette), std::end(kPalette)}};
  draw_block(image.canvas, scene.state.block);
  const Pixel agent = whole(scene.state.agent);
  image.canvas.fill_disc(agent, whole(kAgentRadius), agent_ink);
  image.canvas.fill_disc(agent, whole(kAgentRadius) - 4, agent_light);
  draw_walls(image.canvas);
  for (const Contact& c : scene.contacts) draw_mark(image, whole(c.from), whole(c.to));
  return image;
}

/// OpenCV's bilinear reduction of 8-bit images: two neighbours, whatever the ratio, weighted in 1/2048.
struct Tap {
  int first;
  int weights[2];
};

std::array<Tap, kImageSize> make_taps() {
  std::array<Tap, kImageSize> taps;
  for (int i = 0; i < kImageSize; ++i) {
    const double at = (i + 0.5) * kCanvasSize / kImageSize - 0.5;
    const int first = static_cast<int>(at);
    const auto second = static_cast<float>(at) - static_cast<float>(first);
    taps[static_cast<size_t>(i)] = {first, {whole((1 - second) * 2048), whole(second * 2048)}};
  }
  return taps;
}

/// The same shifts as OpenCV's, which lose bits: its rounding is part of the recordings.
uint8_t reduced(const DrawnImage& image, const Tap& x, const Tap& y, uint8_t Rgb::*channel) {
  int sum = 0;
  for (int r = 0; r < 2; ++r) {
    const int across = image.at(x.first, y.first + r).*channel * x.weights[0] +
                       image.at(x.first + 1, y.first + r).*channel * x.weights[1];
    sum += (y.weights[r] * (across >> 4)) >> 16;
  }
  return static_cast<uint8_t>((sum + 2) >> 2);
}

}  // namespace

std::vector<uint8_t> draw_canvas(const PushTScene& scene) {
  const DrawnImage image = drawn(scene);
  std::vector<uint8_t> rgb;
  rgb.reserve(image.canvas.pixels().size() * 3);
  for (const uint8_t ink : image.canvas.pixels()) {
    const Rgb c = image.colors[ink];
    rgb.insert(rgb.end(), {c.red, c.green, c.blue});
  }
  return rgb;
}

std::vector<uint8_t> draw_image(const PushTScene& scene) {
  static const std::array<Tap, kImageSize> taps = make_taps();
  const DrawnImage image = drawn(scene);
  std::vector<uint8_t> rgb;
  rgb.reserve(size_t{kImageSize} * kImageSize * 3);
  for (const Tap& y : taps) {
    for (const Tap& x : taps) {
      for (const auto channel : {&Rgb::red, &Rgb::green, &Rgb::blue}) rgb.push_back(reduced(image, x, y, channel));
    }
  }
  return rgb;
}

}  // namespace fib::robots
