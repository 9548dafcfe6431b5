// SPDX-License-Identifier: Apache-2.0
// A drawing of shapes, lines and text, in pixels from the upper left corner. What is drawn is decided once;
// SVG and PNG are two ways of writing the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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

// ---- The colors of plots, and what they are called in a page's style sheet, where they change in the dark

inline constexpr Color kPlotText{29, 36, 51}, kPlotMuted{86, 96, 114}, kPlotGrid{213, 219, 230};
/// Of masks: captions, frame, ground, and pairs by an offset, of a class token, of a list, of neighbors on the grid and
/// with summaries.
inline constexpr Color kMaskCaption{91, 101, 119}, kMaskFrame{201, 209, 222}, kMaskGround{246, 248, 251},
    kMaskOffset{31, 78, 156}, kMaskClass{240, 160, 48}, kMaskListed{200, 30, 90}, kMaskNeighbor{0, 140, 100},
    kMaskSummary{122, 72, 190};

/// The color of the i-th thing shown: Okabe and Ito's, which stay apart for color-blind readers; gray first, for what
/// others are compared with.
Color series_color(size_t i);

/// "var(--series-2)", "currentColor"; a color that is not of the palette as "#rrggbb".
std::string themed_color(Color color);
/// "#rrggbb".
std::string hex_color(Color color);

// ---- A small PNG writer. OpenCV's would do, but merely linking it costs every run of the program 90 ms

/// Rows of red, green, blue bytes, width · height · 3 of them.
std::string encode_png(std::span<const uint8_t> rgb, uint32_t width, uint32_t height);

// ---- Text and images inside of HTML and SVG

/// For element content and for attributes in double quotes. Control characters, which markup cannot hold, and bytes
/// that are not UTF-8 are shown as escapes; lines stay lines.
std::string escaped_markup(const std::string& text);

/// A PNG file's bytes as the address of an image: data:image/png;base64,…
std::string png_uri(const std::string& png);

/// A table of HTML that scrolls by itself where a page is narrow: its beginning, up to the names of columns; those of
/// words and of numbers; cells, whose content is markup already.
std::string html_table_begin(const std::string& label);
std::string html_column(const std::string& title, bool words);
std::string html_row_name(const std::string& content);
std::string html_cell(const std::string& content, bool words);

}  // namespace fib::report
