// SPDX-License-Identifier: Apache-2.0
#include "report/palette.h"

#include <fmt/format.h>

#include <array>

namespace fib::report {
namespace {

constexpr std::array<Color, 7> kSeriesColors = {
    {{102, 102, 102}, {213, 94, 0}, {0, 114, 178}, {0, 158, 115}, {204, 121, 167}, {230, 159, 0}, {86, 180, 233}}};

}  // namespace

Color series_color(size_t i) {
  return i % (kSeriesColors.size() + 1) < kSeriesColors.size() ? kSeriesColors[i % (kSeriesColors.size() + 1)]
                                                               : kPlotText;
}

std::string hex_color(Color c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

std::string themed_color(Color color) {
  if (color == kPlotText) return "currentColor";
  if (color == kPlotMuted) return "var(--muted)";
  if (color == kPlotGrid) return "var(--grid)";
  for (size_t i = 0; i < kSeriesColors.size(); ++i)
    if (color == kSeriesColors[i]) return fmt::format("var(--series-{})", i);
  return hex_color(color);
}

}  // namespace fib::report
