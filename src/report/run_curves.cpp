// SPDX-License-Identifier: Apache-2.0
#include "report/run_curves.h"

#include <algorithm>

namespace fib::report {
namespace {

using Points = std::vector<PlotPoint>;

Points loss_by_epoch(const RunRecord& run) {
  Points points;
  for (const CurvePoint& p : run.train_loss) points.push_back({p.epoch, p.value});
  return points;
}

Points accuracy_by_epoch(const RunRecord& run) {
  Points points;
  for (const CurvePoint& p : run.validation) points.push_back({p.epoch, 100 * p.value});
  return points;
}

/// Nothing where the time is not known.
Points accuracy_by_time(const RunRecord& run) {
  Points points;
  if (run.train_seconds <= 0 || run.epochs <= 0) return points;
  for (const CurvePoint& p : run.validation) points.push_back({run.seconds(p.epoch), 100 * p.value});
  return points;
}

Panel with_curves(Panel panel, const std::vector<RunRecord>& runs, Points (*points)(const RunRecord&)) {
  for (const RunRecord& run : runs) panel.series.push_back({run.name, points(run)});
  return panel;
}

bool is_empty(const Panel& panel) {
  return std::all_of(panel.series.begin(), panel.series.end(), [](const Series& s) { return s.points.empty(); });
}

}  // namespace

std::vector<Panel> run_curve_panels(const std::vector<RunRecord>& runs) {
  const AxisOptions epochs{.whole = true};
  std::vector<Panel> panels = {
      with_curves({"training loss", "epoch", "cross-entropy", {}, epochs}, runs, loss_by_epoch),
      with_curves({"validation accuracy by epoch", "epoch", "top-1, percent", {}, epochs}, runs, accuracy_by_epoch),
      with_curves({"the same by time", "seconds of training", "top-1, percent", {}, {.from_zero = true}}, runs,
                  accuracy_by_time)};
  std::erase_if(panels, is_empty);
  return panels;
}

}  // namespace fib::report
