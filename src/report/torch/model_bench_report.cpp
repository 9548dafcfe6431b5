// SPDX-License-Identifier: Apache-2.0
#include "report/torch/model_bench_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/figure_json.h"
#include "report/table.h"
#include "report/words.h"

namespace fib::report {
namespace {

using bench::ModelBenchRow;
using bench::ModelPass;
using nlohmann::ordered_json;

std::string or_dash(std::optional<double> value, int digits, const char* unit = "") {
  return value ? fmt::format("{:.{}f}{}", *value, digits, unit) : "–";
}

/// A curve for each attention, of the rows of one pass that have the value.
Panel panel_of(const ModelBenchReport& r, ModelPass pass, const std::string& title,
               std::optional<double> ModelBenchRow::*value) {
  Panel panel{.title = title, .x_label = "resolution", .y_label = "", .series = {}};
  panel.y.from_zero = true;
  for (const ModelBenchRow& row : r.rows) {
    if (row.pass != pass || !(row.*value)) continue;
    panel.x.ticks.push_back(static_cast<double>(row.resolution));
    const PlotPoint point{static_cast<double>(row.resolution), *(row.*value)};
    const auto same = [&](const Series& s) { return s.name == row.attention; };
    const auto found = std::find_if(panel.series.begin(), panel.series.end(), same);
    if (found != panel.series.end()) {
      found->points.push_back(point);
    } else {
      panel.series.push_back({row.attention, {point}});
    }
  }
  return panel;
}

ordered_json profile_json(const bench::StepProfile& profile) {
  auto kinds = ordered_json::array();
  for (const bench::KindTime& k : profile.kinds) {
    kinds.push_back({{"kind", k.kind}, {"forward_ms", k.forward_ms}, {"backward_ms", k.backward_ms}});
  }
  return {{"kinds", kinds}, {"between_ms", profile.between_ms}, {"optimizer_ms", profile.optimizer_ms}};
}

/// A line for each kind of layer.
std::string profile_text(const ModelBenchRow& row) {
  using enum Table::Align;
  Table table({{"kind", left}, {"forward ms", right}, {"backward ms", right}, {"share", right}});
  const bench::StepProfile& p = *row.profile;
  const auto share = [&](double ms) { return fmt::format("{:.0f} %", 100.0 * ms / p.total_ms()); };
  double forward = 0.0, backward = 0.0;
  for (const bench::KindTime& k : p.kinds) {
    table.add_row({k.kind, fmt::format("{:.1f}", k.forward_ms), fmt::format("{:.1f}", k.backward_ms),
                   share(k.forward_ms + k.backward_ms)});
    forward += k.forward_ms, backward += k.backward_ms;
  }
  table.add_row(
      {"all operators", fmt::format("{:.1f}", forward), fmt::format("{:.1f}", backward), share(forward + backward)});
  return fmt::format("\nA step with {} at {}: between operators {:.1f} ms ({}), optimizer {:.1f} ms ({})\n\n{}",
                     row.attention, row.resolution, p.between_ms, share(p.between_ms), p.optimizer_ms,
                     share(p.optimizer_ms), table.to_string());
}

}  // namespace

ordered_json model_bench_json(const ModelBenchReport& r) {
  auto rows = ordered_json::array();
  for (const ModelBenchRow& row : r.rows) {
    rows.push_back({{"model", row.model},
                    {"attention", row.attention},
                    {"resolution", row.resolution},
                    {"tokens", row.tokens},
                    {"batch", row.batch},
                    {"pass", to_string(row.pass)},
                    {"ms", or_null(row.ms)},
                    {"ms_median", or_null(row.ms_median)},
                    {"images_per_second", or_null(row.images_per_second)},
                    {"speedup_over_full", or_null(row.speedup_over_full)},
                    {"peak_memory_mb", or_null(row.peak_memory_mb)},
                    {"reason", row.reason.empty() ? ordered_json(nullptr) : ordered_json(row.reason)},
                    {"engine", "torch"},
                    {"precision", "f32"}});
    if (row.profile) rows.back()["profile"] = profile_json(*row.profile);
  }
  return {{"machine", r.machine}, {"threads", r.threads}, {"rows", rows}};
}

std::string model_bench_text(const ModelBenchReport& r) {
  using enum Table::Align;
  Table table({{"pass", left},
               {"resolution", right},
               {"tokens", right},
               {"attention", left},
               {"ms", right},
               {"median", right},
               {"images/s", right},
               {"over full", right},
               {"MB", right}});
  std::string notes;
  const ModelBenchRow* above = nullptr;
  for (const ModelBenchRow& row : r.rows) {
    const bool same_pass = above != nullptr && above->pass == row.pass;
    const bool same_size = same_pass && above->resolution == row.resolution;
    table.add_row({same_pass ? "" : to_string(row.pass), same_size ? "" : std::to_string(row.resolution),
                   same_size ? "" : grouped(row.tokens), row.attention, or_dash(row.ms, 1), or_dash(row.ms_median, 1),
                   or_dash(row.images_per_second, 2), or_dash(row.speedup_over_full, 2, " x"),
                   or_dash(row.peak_memory_mb, 0)});
    if (!row.reason.empty()) {
      notes += fmt::format("{} at {}, {}: {}\n", row.attention, row.resolution, to_string(row.pass), row.reason);
    }
    above = &row;
  }
  std::string profiles;
  for (const ModelBenchRow& row : r.rows) profiles += row.profile ? profile_text(row) : "";
  const ModelBenchRow& first = r.rows.front();
  return fmt::format("{}, batch {}; {}; {} threads\n\n{}{}{}{}", first.model, first.batch, r.machine, r.threads,
                     table.to_string(), notes.empty() ? "" : "\n", notes, profiles);
}

LinePlot model_bench_plot(const ModelBenchReport& r) {
  const ModelBenchRow& first = r.rows.front();
  LinePlot plot{fmt::format("{}, batch {}, {} threads", first.model, first.batch, r.threads), {}};
  for (ModelPass pass : {ModelPass::forward, ModelPass::training}) {
    const auto add = [&](const char* what, std::optional<double> ModelBenchRow::*value) {
      Panel panel = panel_of(r, pass, fmt::format("{}: {}", to_string(pass), what), value);
      if (!panel.series.empty()) plot.panels.push_back(std::move(panel));
    };
    add("ms", &ModelBenchRow::ms);
    add("peak memory, MB", &ModelBenchRow::peak_memory_mb);
  }
  return plot;
}

}  // namespace fib::report
