// SPDX-License-Identifier: Apache-2.0
// A drawing of filled shapes and lines of text, in pixels from the upper left corner. What is drawn is decided once;
// SVG and PNG are two ways of writing the same.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace fib::report {

struct Color {
  uint8_t red, green, blue;
  friend bool operator==(const Color&, const Color&) = default;
};

struct Point {
  double x, y;
};

struct Rect {
  double x, y, width, height;
};

/// Shapes of one colour; rectangles on whole pixels stay sharp.
struct Fill {
  Color color;
  std::vector<Rect> rects;
  std::vector<std::vector<Point>> polygons;
};

struct Text {
  Point at;  ///< where the baseline begins
  std::string line;
  double size;
  bool bold = false;
  Color color;
};

/// A small picture stretched over a rectangle, each of its pixels a sharp square.
struct Pixels {
  Rect at;
  uint32_t width, height;
  std::vector<uint8_t> rgb;  ///< width · height · 3
};

struct Drawing {
  double width = 0, height = 0;
  std::vector<std::variant<Fill, Text, Pixels>> items;  ///< later ones lie on top; the ground is white
};

/// Room for a line of text in any of the fonts it may be set in: a little more than they need.
double text_width(size_t characters, double size);

std::string to_svg(const Drawing& drawing);
/// Throws std::invalid_argument when the drawing is too large for an image.
std::string to_png(const Drawing& drawing);

}  // namespace fib::report
