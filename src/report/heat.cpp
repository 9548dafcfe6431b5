// SPDX-License-Identifier: Apache-2.0
#include "report/heat.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fib::report {
namespace {

uint8_t blend(double a, double b, double share) { return static_cast<uint8_t>(std::lround(std::lerp(a, b, share))); }

Color mixed(Color a, Color b, double share) {
  return {blend(a.red, b.red, share), blend(a.green, b.green, share), blend(a.blue, b.blue, share)};
}

/// The image in grey and at half its brightness, so that light on it is seen.
Color dimmed(const uint8_t* rgb) {
  const double grey = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
  const auto level = static_cast<uint8_t>(std::lround(16 + 0.5 * grey));
  return {level, level, level};
}

bool on_frame(uint32_t x, uint32_t y, uint32_t cell, uint32_t row, uint32_t column) {
  const uint32_t left = column * cell, top = row * cell;
  if (x < left || y < top || x >= left + cell || y >= top + cell) return false;
  return cell < 4 || x == left || y == top || x == left + cell - 1 || y == top + cell - 1;
}

Pixels heat_in_range(const SquareImage& image, const std::vector<double>& weights, std::optional<size_t> marked,
                     const Rect& at, const HeatRange& range) {
  constexpr Color kMark{86, 180, 233};
  const size_t of_frame = weights.size() / image.frames;
  const auto grid = static_cast<uint32_t>(std::lround(std::sqrt(static_cast<double>(of_frame))));
  const uint32_t cell = std::max(1U, image.side / grid);
  const double span = std::max(range.most - range.least, 1e-30);
  Pixels pixels{at, image.width(), image.side, {}};
  pixels.rgb.reserve(image.rgb.size());
  for (uint32_t y = 0; y < image.side; ++y) {
    for (uint32_t place = 0; place < image.width(); ++place) {
      const uint32_t frame = place / image.side, x = place % image.side;
      const uint32_t row = std::min(y * grid / image.side, grid - 1),
                     column = std::min(x * grid / image.side, grid - 1);
      const double share = (weights[frame * of_frame + size_t{row} * grid + column] - range.least) / span;
      Color c =
          mixed(dimmed(&image.rgb[size_t{3} * (y * image.width() + place)]), heat_color(share), 0.9 * std::sqrt(share));
      if (marked && on_frame(x, y, cell, static_cast<uint32_t>(*marked) / grid, static_cast<uint32_t>(*marked) % grid))
        c = kMark;
      pixels.rgb.insert(pixels.rgb.end(), {c.red, c.green, c.blue});
    }
  }
  return pixels;
}

}  // namespace

HeatRange range_of(const std::vector<double>& weights) {
  const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  return {*least, *most};
}

HeatRange joint_range(const HeatRange& a, const HeatRange& b) {
  return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

Color heat_color(double share) {
  constexpr std::array<Color, 5> kStops = {{{0, 0, 4}, {87, 16, 110}, {188, 55, 84}, {249, 142, 9}, {252, 255, 164}}};
  const double place = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
  const auto below = std::min(static_cast<size_t>(place), kStops.size() - 2);
  return mixed(kStops[below], kStops[below + 1], place - static_cast<double>(below));
}

Pixels heat_over(const SquareImage& image, const std::vector<double>& weights, std::optional<size_t> marked,
                 const Rect& at) {
  return heat_in_range(image, weights, marked, at, range_of(weights));
}

Pixels heat_over(const SquareImage& image, const std::vector<double>& weights, const HeatRange& range) {
  return heat_in_range(image, weights, std::nullopt, {}, range);
}

}  // namespace fib::report
