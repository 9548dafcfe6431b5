// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <utility>

#include "report/drawing.h"

namespace fib::report {
namespace {

constexpr std::array<Color, 7> kSeriesColors = {
    {{102, 102, 102}, {213, 94, 0}, {0, 114, 178}, {0, 158, 115}, {204, 121, 167}, {230, 159, 0}, {86, 180, 233}}};

constexpr std::array<std::pair<Color, const char*>, 11> kThemed = {{{kPlotText, "currentColor"},
                                                                    {kPlotMuted, "var(--muted)"},
                                                                    {kPlotGrid, "var(--grid)"},
                                                                    {kMaskCaption, "var(--muted)"},
                                                                    {kMaskFrame, "var(--grid)"},
                                                                    {kMaskGround, "var(--card)"},
                                                                    {kMaskOffset, "var(--mask-offset)"},
                                                                    {kMaskClass, "var(--mask-class)"},
                                                                    {kMaskListed, "var(--mask-listed)"},
                                                                    {kMaskNeighbor, "var(--mask-neighbor)"},
                                                                    {kMaskSummary, "var(--mask-summary)"}}};

}  // namespace

Color series_color(size_t i) {
  return i % (kSeriesColors.size() + 1) < kSeriesColors.size() ? kSeriesColors[i % (kSeriesColors.size() + 1)]
                                                               : kPlotText;
}

std::string hex_color(Color c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

std::string themed_color(Color color) {
  for (const auto& [known, name] : kThemed)
    if (color == known) return name;
  for (size_t i = 0; i < kSeriesColors.size(); ++i)
    if (color == kSeriesColors[i]) return fmt::format("var(--series-{})", i);
  return hex_color(color);
}

}  // namespace fib::report
