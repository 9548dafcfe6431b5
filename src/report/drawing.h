// SPDX-License-Identifier: Apache-2.0
// A drawing of shapes, lines and text, in pixels from the upper left corner. What is drawn is decided once;
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

/// Shapes of one color; rectangles on whole pixels stay sharp.
struct Fill {
  Color color;
  std::vector<Rect> rects;
  std::vector<std::vector<Point>> polygons;
  double opacity = 1;
};

/// Lines from point to point.
struct Stroke {
  Color color;
  double width;
  std::vector<std::vector<Point>> lines;
};

struct Dots {
  Color color;
  double radius;
  std::vector<Point> centers;
};

/// Which part of a line of text stands at its point.
enum class Align { start, middle, end };

struct Text {
  Point at;  ///< on the baseline
  std::string line;
  double size;
  bool bold = false;
  Color color;
  Align align = Align::start;
};

/// A small image stretched over a rectangle, each of its pixels a sharp square.
struct Pixels {
  Rect at;
  uint32_t width, height;
  std::vector<uint8_t> rgb;  ///< width · height · 3
};

struct Drawing {
  double width = 0, height = 0;
  std::vector<std::variant<Fill, Stroke, Dots, Text, Pixels>> items;  ///< later ones lie on top; the ground is white
};

/// Room for a line of text in any of the fonts it may be set in: a little more than they need.
double text_width(size_t characters, double size);

std::string to_svg(const Drawing& drawing);
/// For a page: without a ground, in colors that follow its theme, and with a description for those who do not see it.
std::string to_inline_svg(const Drawing& drawing, const std::string& description);
/// Throws std::invalid_argument when the drawing is too large for an image.
std::string to_png(const Drawing& drawing);

/// Called before the work: throws std::invalid_argument unless the name ends in .svg or .png, std::runtime_error where
/// no file can be made.
void check_drawing_output(const std::string& path);
/// Whole or not at all, as SVG or PNG.
void write_drawing(const Drawing& drawing, const std::string& path);

}  // namespace fib::report
