// SPDX-License-Identifier: Apache-2.0
// Filled shapes on a square of palette indices, to the pixels that pygame sets: its scan lines truncate, its discs span
// an even number of pixels, its thick lines end flat. Policies trained on published images see the same pixels here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fib::robots {

struct Pixel {
  int x = 0, y = 0;
};

class Canvas {
 public:
  explicit Canvas(int size) : size_(size), pixels_(static_cast<size_t>(size) * static_cast<size_t>(size)) {}

  int size() const { return size_; }
  uint8_t at(int x, int y) const { return pixels_[index(x, y)]; }
  void set(int x, int y, uint8_t color) { pixels_[index(x, y)] = color; }
  std::span<const uint8_t> pixels() const { return pixels_; }

  void fill_polygon(std::span<const Pixel> corners, uint8_t color);
  void fill_disc(Pixel center, int radius, uint8_t color);
  void thick_line(Pixel from, Pixel to, int width, uint8_t color);

 private:
  size_t index(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(size_) + static_cast<size_t>(x);
  }
  /// Both ends belong to it, in either order; what lies outside is left out.
  void row(int x1, int x2, int y, uint8_t color);
  void column(int x, int y1, int y2, uint8_t color);

  int size_;
  std::vector<uint8_t> pixels_;
};

}  // namespace fib::robots
