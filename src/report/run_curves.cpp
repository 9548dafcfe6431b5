// SPDX-License-Identifier: Apache-2.0
#include "report/run_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "report/gnuplot.h"

namespace fib::report {
namespace {

struct CurvePanel {
  const char* name;
  const char* title;
  const char* x_label;
  const char* y_label;
  const char* key;  ///< where the legend stands
  std::function<std::vector<std::pair<double, double>>(const RunRecord&)> points;
};

std::vector<std::pair<double, double>> loss_by_epoch(const RunRecord& run) {
  std::vector<std::pair<double, double>> points;
  for (const CurvePoint& p : run.train_loss) points.emplace_back(p.epoch, p.value);
  return points;
}

std::vector<std::pair<double, double>> accuracy_by_epoch(const RunRecord& run) {
  std::vector<std::pair<double, double>> points;
  for (const CurvePoint& p : run.validation) points.emplace_back(p.epoch, 100 * p.value);
  return points;
}

std::vector<std::pair<double, double>> accuracy_by_time(const RunRecord& run) {
  std::vector<std::pair<double, double>> points;
  for (const CurvePoint& p : run.validation) points.emplace_back(run.seconds(p.epoch), 100 * p.value);
  return points;
}

std::string data_blocks(const CurvePanel& panel, const std::vector<RunRecord>& runs) {
  std::string text;
  for (size_t r = 0; r < runs.size(); ++r) {
    text += fmt::format("${}{} << EOD\n", panel.name, r);
    for (const auto& [x, y] : panel.points(runs[r])) text += fmt::format("{} {}\n", x, y);
    text += "EOD\n";
  }
  return text;
}

std::string panel_script(const CurvePanel& panel, const std::vector<RunRecord>& runs) {
  std::vector<std::string> curves;
  for (size_t r = 0; r < runs.size(); ++r)
    curves.push_back(
        fmt::format("${}{} using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.6 linecolor '{}' "
                    "title {} noenhanced",
                    panel.name, r, series_colour(r), quoted(runs[r].name)));
  return data_blocks(panel, runs) +
         fmt::format("set title '{}'\nset xlabel '{}'\nset ylabel '{}'\nset key {} Left reverse\nplot {}\n",
                     panel.title, panel.x_label, panel.y_label, panel.key, fmt::join(curves, ", "));
}

bool has_points(const CurvePanel& panel, const std::vector<RunRecord>& runs) {
  return std::any_of(runs.begin(), runs.end(), [&](const RunRecord& run) { return !panel.points(run).empty(); });
}

}  // namespace

std::vector<CurvePlot> run_curve_panels(const std::vector<RunRecord>& runs) {
  const std::array<CurvePanel, 3> panels = {
      CurvePanel{"loss", "training loss", "epoch", "cross-entropy", "top right", loss_by_epoch},
      CurvePanel{"epoch", "validation accuracy by epoch", "epoch", "top-1, percent", "bottom right", accuracy_by_epoch},
      CurvePanel{"time", "the same by time", "seconds of training", "top-1, percent", "bottom right",
                 accuracy_by_time}};
  const std::string frame =
      "set border 3\nset tics nomirror\nset grid ytics linecolor '#bbbbbb' linetype 1\n"
      "set offsets graph 0.04, graph 0.04, graph 0.06, graph 0.06\n";
  std::vector<CurvePlot> scripts;
  for (const CurvePanel& panel : panels)
    if (has_points(panel, runs)) scripts.push_back({panel.title, frame + panel_script(panel, runs)});
  return scripts;
}

void draw_run_curves(const std::vector<RunRecord>& runs, const std::string& path) {
  const std::vector<CurvePlot> panels = run_curve_panels(runs);
  std::string script = fmt::format("set multiplot layout 1,{}\n", panels.size());
  for (const CurvePlot& panel : panels) script += panel.script;
  draw_with_gnuplot(script + "unset multiplot\n", path,
                    {.width = 440 * static_cast<int>(panels.size()), .height = 400});
}

}  // namespace fib::report
