// SPDX-License-Identifier: Apache-2.0
#include "report/box_plot.h"

#include <fmt/format.h>

#include <algorithm>

namespace fib::report {
namespace {

std::string block(const BoxPlot& plot, bool reference) {
  std::string text = fmt::format("$boxes{} << EOD\n", reference ? 1 : 0);
  for (size_t i = 0; i < plot.boxes.size(); ++i) {
    const Box& b = plot.boxes[i];
    if (b.reference == reference) text += fmt::format("{} {} {} {} {} {}\n", i, b.min, b.q1, b.median, b.q3, b.max);
  }
  return text + "EOD\n";
}

/// gnuplot's own order: x, lower edge, lower whisker, upper whisker, upper edge; the median is drawn as a flat box.
std::string boxes(bool reference) {
  return fmt::format(
      "$boxes{0} using 1:3:2:6:5 with candlesticks whiskerbars 0.5 linewidth 1.5 linecolor '{1}' fillstyle solid 0.25 "
      "border notitle, $boxes{0} using 1:4:4:4:4 with candlesticks linewidth 3 linecolor '{1}' notitle",
      reference ? 1 : 0, series_colour(reference ? 0 : 1));
}

bool has(const BoxPlot& plot, bool reference) {
  return std::any_of(plot.boxes.begin(), plot.boxes.end(), [&](const Box& b) { return b.reference == reference; });
}

}  // namespace

PlotSize box_plot_size(const BoxPlot& plot) {
  return {.width = std::max(420, 140 + 90 * static_cast<int>(plot.boxes.size())), .height = 420};
}

std::string box_plot_script(const BoxPlot& plot) {
  std::vector<std::string> names, drawn;
  std::string text;
  for (size_t i = 0; i < plot.boxes.size(); ++i) names.push_back(fmt::format("{} {}", quoted(plot.boxes[i].name), i));
  for (bool reference : {false, true}) {
    if (!has(plot, reference)) continue;
    text += block(plot, reference);
    drawn.push_back(boxes(reference));
  }
  return text + fmt::format(
                    "set title {} noenhanced\nset ylabel {} noenhanced\nset border 3\nset tics nomirror\n"
                    "set grid ytics linecolor '#bbbbbb' linetype 1\nset boxwidth 0.5\nset rmargin 9\nset yrange [0:*]\n"
                    "set xrange [-0.6:{}]\nset xtics noenhanced rotate by -25 ({})\nplot {}\n",
                    quoted(plot.title), quoted(plot.y_label), static_cast<double>(plot.boxes.size()) - 0.4,
                    fmt::join(names, ", "), fmt::join(drawn, ", "));
}

void write_plot(const BoxPlot& plot, const std::string& path) {
  draw_with_gnuplot(box_plot_script(plot), path, box_plot_size(plot));
}

}  // namespace fib::report
