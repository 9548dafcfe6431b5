// SPDX-License-Identifier: Apache-2.0
// Names of strangers on their way to a terminal, into pages and into plots.
#include <set>

#include "base/text.h"
#include "fuzz.h"
#include "report/drawing.h"
#include "report/plot.h"

namespace {

using namespace fib::report;

bool is_one_plain_line(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  return true;
}

/// What stands behind every "<": the elements of a drawing.
std::set<std::string> elements(const std::string& svg) {
  std::set<std::string> names;
  for (size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1))
    names.insert(svg.substr(at + 1, svg.find_first_of(" />\n", at + 2) - at - 1));
  return names;
}

/// The three kinds of plots with one text in every place for one.
std::set<std::string> drawn_elements(const std::string& text) {
  const Panel panel{.title = text, .x_label = text, .y_label = text, .series = {{text, {{0, 1, text}, {1, 2, text}}}}};
  const LinePlot lines{text, {panel}};
  const BarPlot bars{text, text, {text, "b"}, {{text, {1, 2}}}};
  const BoxPlot boxes{text, text, {{text, 0, 1, 2, 3, 4}}};
  return elements(to_svg(draw(lines)) + to_svg(draw(bars)) + to_svg(draw(boxes)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = fib::fuzz::text_of(data, size);
  const std::string shown = fib::printable(text, 40);
  fib::fuzz::require(is_one_plain_line(shown) && shown.size() <= 40 * 16 + 3);
  // What was made printable is printable: nothing is left to escape.
  fib::fuzz::require(fib::printable(shown, shown.size()) == shown);
  fib::fuzz::require(escaped_markup(text).find_first_of("<>\"") == std::string::npos);
  static const std::set<std::string> plain = drawn_elements("name");
  for (const std::string& element : drawn_elements(text)) fib::fuzz::require(plain.contains(element));
  return 0;
}
