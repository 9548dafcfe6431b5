// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "report/drawing.h"

namespace fib::report {
namespace {

using Buffer = fmt::memory_buffer;

/// Hundredths of a pixel, without trailing zeros: drawings have thousands of these.
std::string number(double value) {
  const double rounded = std::round(value * 100) / 100;
  return fmt::format("{}", rounded == 0 ? 0.0 : rounded);
}

void write(Buffer& out, const Rect& r) {
  fmt::format_to(std::back_inserter(out), "M{} {}h{}v{}h{}z", number(r.x), number(r.y), number(r.width),
                 number(r.height), number(-r.width));
}

void write(Buffer& out, const std::vector<Point>& line, bool closed) {
  char command = 'M';
  for (const Point& p : line) {
    fmt::format_to(std::back_inserter(out), "{}{} {}", command, number(p.x), number(p.y));
    command = 'L';
  }
  if (closed) out.push_back('z');
}

using ColorText = std::string (*)(Color);

/// Writes items, with colors as they are called where the drawing goes.
struct SvgWriter {
  Buffer& out;
  ColorText color;

  template <class... T>
  void print(fmt::format_string<T...> format, T&&... parts) const {
    fmt::format_to(std::back_inserter(out), format, std::forward<T>(parts)...);
  }

  void operator()(const Fill& fill) const {
    if (fill.rects.empty() && fill.polygons.empty()) return;
    print("<path fill=\"{}\"{} d=\"", color(fill.color),
          fill.opacity < 1 ? fmt::format(" fill-opacity=\"{}\"", number(fill.opacity)) : "");
    for (const Rect& r : fill.rects) write(out, r);
    for (const auto& p : fill.polygons) write(out, p, true);
    print("\"/>\n");
  }

  void operator()(const Stroke& stroke) const {
    if (stroke.lines.empty()) return;
    print("<path fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\" d=\"", color(stroke.color),
          number(stroke.width));
    for (const auto& line : stroke.lines) write(out, line, false);
    print("\"/>\n");
  }

  void operator()(const Dots& dots) const {
    if (dots.centers.empty()) return;
    print("<g fill=\"{}\">", color(dots.color));
    for (const Point& p : dots.centers)
      print("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"/>", number(p.x), number(p.y), number(dots.radius));
    print("</g>\n");
  }

  void operator()(const Text& t) const {
    constexpr const char* kAnchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    print("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{}{}>{}</text>\n", number(t.at.x), number(t.at.y),
          number(t.size), color(t.color), t.bold ? " font-weight=\"bold\"" : "", kAnchors[static_cast<size_t>(t.align)],
          escaped_markup(t.line));
  }

  void operator()(const Pixels& p) const {
    print(
        "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
        "style=\"image-rendering:pixelated\" href=\"{}\"/>\n",
        number(p.at.x), number(p.at.y), number(p.at.width), number(p.at.height),
        png_uri(encode_png(p.rgb, p.width, p.height)));
  }
};

constexpr const char* kFonts = "Helvetica, Arial, 'DejaVu Sans', sans-serif";

std::string items_svg(const Drawing& drawing, ColorText color) {
  Buffer out;
  for (const auto& item : drawing.items) std::visit(SvgWriter{out, color}, item);
  return fmt::to_string(out);
}

}  // namespace

double text_width(size_t characters, double size) { return 0.62 * size * static_cast<double>(characters); }

std::string to_svg(const Drawing& drawing) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"{2}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{3}</svg>\n",
      number(drawing.width), number(drawing.height), kFonts, items_svg(drawing, hex_color));
}

std::string to_inline_svg(const Drawing& drawing, const std::string& description) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" font-family=\"{}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
                     number(drawing.width), number(drawing.height), kFonts, escaped_markup(description),
                     items_svg(drawing, themed_color));
}

}  // namespace fib::report
