// SPDX-License-Identifier: Apache-2.0
#include "report/line_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/gnuplot.h"

namespace fib::report {
namespace {

constexpr int kPanelWidth = 540, kHeight = 440;

std::string ticks(const Panel& panel) {
  std::set<double> places;
  for (const Series& s : panel.series) {
    for (const PlotPoint& p : s.points) places.insert(p.x);
  }
  constexpr size_t kMostLabels = 8;  // more would run into each other
  if (places.size() > kMostLabels) return "set xtics auto\n";
  return fmt::format("set xtics ({})\n", fmt::join(places, ", "));
}

/// Below this a label would stand on the axis.
double lowest_label(const Panel& panel) {
  double highest = 0;
  for (const Series& s : panel.series) {
    for (const PlotPoint& p : s.points) highest = std::max(highest, p.y);
  }
  return 0.07 * highest;
}

std::string data_block(const std::string& name, const Series& series, double label_from) {
  std::string text = fmt::format("${} << EOD\n", name);
  for (const PlotPoint& p : series.points) {
    text += fmt::format("{} {} \"{}\"\n", p.x, p.y, p.y < label_from ? "" : p.label);
  }
  return text + "EOD\n";
}

std::string curves(const Panel& panel, size_t index) {
  std::vector<std::string> parts;
  for (size_t s = 0; s < panel.series.size(); ++s) {
    const std::string data = fmt::format("$panel{}_{}", index, s);
    const char* colour = series_colour(s);
    parts.push_back(
        fmt::format("{} using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.7 linecolor '{}' "
                    "title {}",
                    data, colour, quoted(panel.series[s].name)));
    parts.push_back(
        fmt::format("{} using 1:2:3 with labels left offset 0.7,-0.6 textcolor '{}' notitle", data, colour));
  }
  return fmt::format("plot {}\n", fmt::join(parts, ", \\\n  "));
}

std::string panel_script(const Panel& panel, size_t index) {
  std::string text;
  for (size_t s = 0; s < panel.series.size(); ++s) {
    text += data_block(fmt::format("panel{}_{}", index, s), panel.series[s], lowest_label(panel));
  }
  return text +
         fmt::format("set title {} noenhanced\nset ylabel {} noenhanced\n", quoted(panel.title),
                     quoted(panel.y_label)) +
         ticks(panel) + curves(panel, index);
}

std::string panels_script(const std::vector<Panel>& panels) {
  std::string text;
  for (size_t i = 0; i < panels.size(); ++i) text += panel_script(panels[i], i);
  return text;
}

std::string script(const LinePlot& plot) {
  // Room on the right for the last point's label.
  return fmt::format(
             "set key top left reverse Left noenhanced\nset border 3\nset tics nomirror\n"
             "set grid ytics linecolor '#dddddd' linetype 1\n{}set xlabel {}\nset multiplot layout 1,{} title {} "
             "noenhanced\n",
             plot.from_zero ? "set yrange [0:*]\nset offsets graph 0.05, graph 0.13, 0, 0\n"
                            : "set offsets graph 0.05, graph 0.08, graph 0.25, graph 0.1\n",
             quoted(plot.x_label), plot.panels.size(), quoted(plot.title)) +
         panels_script(plot.panels) + "unset multiplot\n";
}

}  // namespace

void write_plot(const LinePlot& plot, const std::string& path) {
  const PlotSize size{kPanelWidth * static_cast<int>(plot.panels.size()), kHeight};
  draw_with_gnuplot(script(plot), path, size);
}

}  // namespace fib::report
