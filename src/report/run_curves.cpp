// SPDX-License-Identifier: Apache-2.0
#include "report/run_curves.h"

#include <fmt/format.h>

#include <algorithm>

namespace fib::report {
namespace {

using Points = std::vector<PlotPoint>;

Points loss_by_epoch(const RunRecord& run) {
  Points points;
  for (const CurvePoint& p : run.train_loss) points.push_back({p.epoch, p.value});
  return points;
}

Points score_by_epoch(const RunRecord& run) {
  Points points;
  for (const CurvePoint& p : run.validation) points.push_back({p.epoch, run.score_scale() * p.value});
  return points;
}

/// Nothing where the time is not known.
Points score_by_time(const RunRecord& run) {
  Points points;
  if (run.train_seconds <= 0 || run.epochs <= 0) return points;
  for (const CurvePoint& p : run.validation) points.push_back({run.seconds(p.epoch), run.score_scale() * p.value});
  return points;
}

Panel with_curves(Panel panel, const std::vector<RunRecord>& runs, Points (*points)(const RunRecord&)) {
  const std::vector<size_t> colors = mechanism_colors(runs);
  for (size_t i = 0; i < runs.size(); ++i) panel.series.push_back({runs[i].name, points(runs[i]), colors[i]});
  return panel;
}

bool is_empty(const Panel& panel) {
  return std::all_of(panel.series.begin(), panel.series.end(), [](const Series& s) { return s.points.empty(); });
}

}  // namespace

std::vector<Panel> run_curve_panels(const std::vector<RunRecord>& runs) {
  const AxisOptions epochs{.whole = true};
  const bool classifies = runs.empty() || runs.front().score == "top1";
  const std::string score = runs.empty() ? "" : runs.front().score_label();
  std::vector<Panel> panels = {
      with_curves({"training loss", "epoch", classifies ? "cross-entropy" : "loss", {}, epochs}, runs, loss_by_epoch),
      with_curves(
          {fmt::format("validation {} by epoch", classifies ? "accuracy" : "score"), "epoch", score, {}, epochs}, runs,
          score_by_epoch),
      with_curves({"the same by time", "seconds of training", score, {}, {.from_zero = true}}, runs, score_by_time)};
  std::erase_if(panels, is_empty);
  return panels;
}

}  // namespace fib::report
