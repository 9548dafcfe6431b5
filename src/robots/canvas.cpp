// SPDX-License-Identifier: Apache-2.0
#include "robots/canvas.h"

#include <algorithm>
#include <cstdlib>

namespace fib::robots {
namespace {

struct Crossing {
  bool exists = false;
  int x = 0;
};

/// Where the edge meets the scan line y. An edge owns its upper end, so that neighbours do not meet it twice; the
/// lowest line of the polygon belongs to the edges that end there.
Crossing crossing(Pixel a, Pixel b, int y, int lowest) {
  if (a.y == b.y) return {};
  if (a.y > b.y) std::swap(a, b);
  const bool inside = (y >= a.y && y < b.y) || (y == lowest && b.y == lowest);
  if (!inside) return {};
  // Divided in integers, which rounds toward the upper end of the edge.
  return {true, (y - a.y) * (b.x - a.x) / (b.y - a.y) + a.x};
}

}  // namespace

void Canvas::row(int x1, int x2, int y, uint8_t color) {
  if (x1 > x2) std::swap(x1, x2);
  if (y < 0 || y >= size_ || x2 < 0 || x1 >= size_) return;
  x1 = std::max(x1, 0);
  x2 = std::min(x2, size_ - 1);
  std::fill_n(pixels_.begin() + static_cast<std::ptrdiff_t>(index(x1, y)), x2 - x1 + 1, color);
}

void Canvas::column(int x, int y1, int y2, uint8_t color) {
  for (int y = y1; y <= y2; ++y) row(x, x, y, color);
}

void Canvas::fill_polygon(std::span<const Pixel> corners, uint8_t color) {
  const auto by_y = [](Pixel a, Pixel b) { return a.y < b.y; };
  const auto [top, bottom] = std::minmax_element(corners.begin(), corners.end(), by_y);
  if (top->y == bottom->y) {
    const auto by_x = [](Pixel a, Pixel b) { return a.x < b.x; };
    const auto [left, right] = std::minmax_element(corners.begin(), corners.end(), by_x);
    return row(left->x, right->x, top->y, color);
  }
  std::vector<int> crossings;
  for (int y = std::max(top->y, 0); y <= std::min(bottom->y, size_ - 1); ++y) {
    crossings.clear();
    for (size_t i = 0; i < corners.size(); ++i) {
      const Crossing c = crossing(corners[(i + corners.size() - 1) % corners.size()], corners[i], y, bottom->y);
      if (c.exists) crossings.push_back(c.x);
    }
    std::sort(crossings.begin(), crossings.end());
    for (size_t i = 0; i + 1 < crossings.size(); i += 2) row(crossings[i], crossings[i + 1], y, color);
  }
}

void Canvas::fill_disc(Pixel center, int radius, uint8_t color) {
  // Bresenham's circle: error of the midpoint, one octant, mirrored.
  int error = 1 - radius, x = 0, y = radius;
  while (x < y) {
    if (error >= 0) {
      --y;
      error -= 2 * y;
    }
    ++x;
    error += 2 * x + 1;
    for (const auto& [half, up] : {std::pair{x, y}, std::pair{y, x}}) {
      row(center.x - half, center.x + half - 1, center.y + up - 1, color);
      row(center.x - half, center.x + half - 1, center.y - up, color);
    }
  }
}

void Canvas::thick_line(Pixel from, Pixel to, int width, uint8_t color) {
  const int dx = std::abs(to.x - from.x), dy = std::abs(to.y - from.y);
  const int step_x = from.x < to.x ? 1 : -1, step_y = from.y < to.y ? 1 : -1;
  const int before = (width - 1) / 2, after = width / 2;
  int error = (dx > dy ? dx : -dy) / 2;
  for (Pixel p = from;;) {
    if (dx <= dy) {
      row(p.x - before, p.x + after, p.y, color);
    } else {
      column(p.x, p.y - before, p.y + after, color);
    }
    if (p.x == to.x && p.y == to.y) return;
    const int e = error;
    if (e > -dx) {
      error -= dy;
      p.x += step_x;
    }
    if (e < dy) {
      error += dx;
      p.y += step_y;
    }
  }
}

}  // namespace fib::robots
