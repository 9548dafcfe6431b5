// SPDX-License-Identifier: Apache-2.0
#include "report/bar_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fib::report {
namespace {

constexpr const char* kBars =
    "set style data histograms\nset style histogram clustered gap 1\nset style fill solid 0.85 border\nset yrange "
    "[0:*]\n";
constexpr const char* kDots = "set offsets 0.5, 0.5, graph 0.15, graph 0.15\n";

std::string data_block(const BarPlot& plot) {
  std::string text = "$bars << EOD\n";
  for (size_t c = 0; c < plot.categories.size(); ++c) {
    text += fmt::format("\"{}\"", plot.categories[c]);
    for (const BarSeries& s : plot.series) text += std::isnan(s.values[c]) ? " ?" : fmt::format(" {}", s.values[c]);
    text += "\n";
  }
  return text + "EOD\n";
}

}  // namespace

PlotSize bar_plot_size(const BarPlot& plot) {
  const size_t bars = plot.categories.size() * (plot.series.size() + 1);
  return {.width = std::max(460, 120 + 16 * static_cast<int>(bars)), .height = 420};
}

std::string bar_plot_script(const BarPlot& plot) {
  std::vector<std::string> drawn;
  for (size_t s = 0; s < plot.series.size(); ++s) {
    const std::string how = plot.dots
                                ? fmt::format("$bars using 0:{}:xtic(1) with points pointtype 7 pointsize 1.2", s + 2)
                                : fmt::format("$bars using {}:xtic(1)", s + 2);
    drawn.push_back(
        fmt::format("{} linecolor '{}' title {} noenhanced", how, series_colour(s), quoted(plot.series[s].name)));
  }
  return data_block(plot) + (plot.dots ? kDots : kBars) +
         fmt::format(
             "set title {} noenhanced\nset ylabel {} noenhanced\nset border 3\nset tics nomirror\nset datafile "
             "missing '?'\nset grid ytics linecolor '#bbbbbb' linetype 1\nset xtics noenhanced rotate by -35\nset "
             "rmargin 12\n"
             "set key outside top horizontal left reverse Left\nplot {}\n",
             quoted(plot.title), quoted(plot.y_label), fmt::join(drawn, ", "));
}

void write_plot(const BarPlot& plot, const std::string& path) {
  draw_with_gnuplot(bar_plot_script(plot), path, bar_plot_size(plot));
}

}  // namespace fib::report
