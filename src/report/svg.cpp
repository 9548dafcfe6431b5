// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "report/drawing.h"
#include "report/markup.h"
#include "report/png.h"

namespace fib::report {
namespace {

using Buffer = fmt::memory_buffer;

std::string hex(Color c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

/// Hundredths of a pixel, without the zeros nobody needs: drawings have thousands of these.
std::string number(double value) {
  const double rounded = std::round(value * 100) / 100;
  return fmt::format("{}", rounded == 0 ? 0.0 : rounded);
}

void write(Buffer& out, const Rect& r) {
  fmt::format_to(std::back_inserter(out), "M{} {}h{}v{}h{}z", number(r.x), number(r.y), number(r.width),
                 number(r.height), number(-r.width));
}

void write(Buffer& out, const std::vector<Point>& polygon) {
  char command = 'M';
  for (const Point& p : polygon) {
    fmt::format_to(std::back_inserter(out), "{}{} {}", command, number(p.x), number(p.y));
    command = 'L';
  }
  out.push_back('z');
}

void write(Buffer& out, const Fill& fill) {
  if (fill.rects.empty() && fill.polygons.empty()) return;
  fmt::format_to(std::back_inserter(out), "<path fill=\"{}\" d=\"", hex(fill.color));
  for (const Rect& r : fill.rects) write(out, r);
  for (const auto& p : fill.polygons) write(out, p);
  fmt::format_to(std::back_inserter(out), "\"/>\n");
}

void write(Buffer& out, const Text& t) {
  fmt::format_to(std::back_inserter(out), "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{}>{}</text>\n",
                 number(t.at.x), number(t.at.y), number(t.size), hex(t.color), t.bold ? " font-weight=\"bold\"" : "",
                 escaped_markup(t.line));
}

void write(Buffer& out, const Pixels& p) {
  fmt::format_to(std::back_inserter(out),
                 "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
                 "style=\"image-rendering:pixelated\" href=\"{}\"/>\n",
                 number(p.at.x), number(p.at.y), number(p.at.width), number(p.at.height),
                 png_uri(encode_png(p.rgb, p.width, p.height)));
}

}  // namespace

std::string to_svg(const Drawing& drawing) {
  Buffer out;
  fmt::format_to(std::back_inserter(out),
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                 "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n<rect width=\"100%\" height=\"100%\" "
                 "fill=\"#ffffff\"/>\n",
                 number(drawing.width), number(drawing.height));
  for (const auto& item : drawing.items) std::visit([&](const auto& i) { write(out, i); }, item);
  fmt::format_to(std::back_inserter(out), "</svg>\n");
  return fmt::to_string(out);
}

}  // namespace fib::report
