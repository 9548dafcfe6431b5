// SPDX-License-Identifier: Apache-2.0
#include "report/torch/attention_bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/figure_json.h"
#include "report/table.h"

namespace fib::report {
namespace {

using bench::AttentionBenchRow;
using nlohmann::ordered_json;

ordered_json row_json(const AttentionBenchRow& r) {
  ordered_json row = {{"contestant", r.contestant},
                      {"pass", r.pass},
                      {"batch", r.batch},
                      {"tokens", r.tokens},
                      {"heads", r.heads},
                      {"dim", r.dim},
                      {"ms", or_null(r.ms)},
                      {"ms_median", or_null(r.ms_median)},
                      {"speedup_over_dense", or_null(r.speedup_over_dense)},
                      {"over_memcpy", or_null(r.over_memcpy)},
                      {"max_error", or_null(r.max_error)},
                      {"pairs_per_second", or_null(r.pairs_per_second)},
                      {"gflops", or_null(r.gflops)},
                      {"gb_per_second", or_null(r.gb_per_second)},
                      {"peak_memory_mb", or_null(r.peak_memory_mb)},
                      {"memory_over_tensors", or_null(r.memory_over_tensors)}};
  row["reason"] = r.reason.empty() ? ordered_json(nullptr) : ordered_json(r.reason);
  return row;
}

/// Three significant digits, without an exponent where people expect none.
std::string figure(std::optional<double> value) {
  if (!value) return "–";
  const double size = std::abs(*value);
  if (size >= 100.0) return fmt::format("{:.0f}", *value);
  return size >= 10.0  ? fmt::format("{:.1f}", *value)
         : size >= 0.1 ? fmt::format("{:.2f}", *value)
                       : fmt::format("{:.3g}", *value);
}

std::optional<double> in_millions(std::optional<double> value) {
  return value ? std::optional(*value * 1e-6) : std::nullopt;
}

std::string error_figure(std::optional<double> value) { return value ? fmt::format("{:.1e}", *value) : "–"; }

/// A difference of two measurements: below a tenth of a microsecond it is noise, and may come out negative.
std::string overhead_note(double microseconds) {
  if (microseconds < 0.1) return "The torch operator adds nothing measurable to the kernel (1 sample of 196 tokens).\n";
  return fmt::format("The torch operator adds {:.1f} µs to the kernel (1 sample of 196 tokens).\n", microseconds);
}

/// Others on the machine slow the contestants down unequally: the more threads meet per product, the more.
std::string busy_note(const BenchReport& report) {
  if (!report.load || *report.load < 0.5) return "";
  return fmt::format("The machine was busy before (load {:.1f}): do not trust these ratios.\n", *report.load);
}

/// Contestants in the order of their first row.
std::vector<std::string> contestants_of(const BenchReport& report) {
  std::vector<std::string> names;
  for (const AttentionBenchRow& r : report.rows) {
    if (std::find(names.begin(), names.end(), r.contestant) == names.end()) names.push_back(r.contestant);
  }
  return names;
}

/// A curve for each contestant, of the rows of one pass that have the value.
Panel panel_of(const BenchReport& report, const std::string& pass, const std::string& title, const std::string& y_label,
               std::optional<double> AttentionBenchRow::*value) {
  Panel panel{.title = title, .x_label = "patch tokens N", .y_label = y_label, .series = {}};
  panel.x.log = panel.y.log = true;
  for (const std::string& name : contestants_of(report)) {
    Series series{name, {}};
    for (const AttentionBenchRow& r : report.rows)
      if (r.contestant == name && r.pass == pass && r.*value)
        series.points.push_back({static_cast<double>(r.tokens), *(r.*value)});
    panel.series.push_back(std::move(series));
  }
  // Every size that was measured is a tick.
  for (int64_t n : report.options.tokens) panel.x.ticks.push_back(static_cast<double>(n));
  return panel;
}

}  // namespace

ordered_json bench_json(const BenchReport& report) {
  auto rows = ordered_json::array();
  for (const AttentionBenchRow& r : report.rows) rows.push_back(row_json(r));
  return {
      {"machine", report.machine},
      {"threads", report.threads},
      {"attention", report.options.attention.to_string()},
      {"load_average", or_null(report.load)},
      {"operator_overhead_us", report.operator_overhead_us},
      {"peak_gflops", report.peak_gflops},
      {"read_gb_per_second", {{"first_cache", report.read_rates.first}, {"second_cache", report.read_rates.second}}},
      {"rows", rows}};
}

std::string bench_text(const BenchReport& report) {
  using enum Table::Align;
  Table table({{"contestant"},
               {"pass"},
               {"tokens", right},
               {"ms", right},
               {"median", right},
               {"Mpairs/s", right},
               {"GFLOP/s", right},
               {"GB/s", right},
               {"x dense", right},
               {"/ memcpy", right},
               {"max error", right},
               {"MB", right}});
  std::string notes;
  for (const AttentionBenchRow& r : report.rows) {
    table.add_row({r.contestant, r.pass, std::to_string(r.tokens), figure(r.ms), figure(r.ms_median),
                   figure(in_millions(r.pairs_per_second)), figure(r.gflops), figure(r.gb_per_second),
                   figure(r.speedup_over_dense), figure(r.over_memcpy), error_figure(r.max_error),
                   figure(r.peak_memory_mb)});
    if (!r.reason.empty() && r.pass == "forward") {
      notes += fmt::format("{} at {} tokens does not fit: {}\n", r.contestant, r.tokens, r.reason);
    }
  }
  const bench::AttentionBenchOptions& o = report.options;
  return fmt::format("{}; {} threads; {}, batch {}, {} heads of {} channels, {} class tokens\n\n{}\n{}", report.machine,
                     report.threads, o.attention.to_string(), o.batch, o.heads, o.dim, o.cls, table.to_string(),
                     notes) +
         overhead_note(report.operator_overhead_us) +
         fmt::format(
             "More is not to be had: {:.0f} GFLOP/s of multiply-adds between registers; {:.0f} GB/s from the "
             "first-level "
             "cache, {:.0f} from the second.\n",
             report.peak_gflops, report.read_rates.first, report.read_rates.second) +
         busy_note(report);
}

LinePlot bench_plot(const BenchReport& report) {
  const std::string pass = report.options.backward ? "forward+backward" : "forward";
  const bench::AttentionBenchOptions& o = report.options;
  return {fmt::format("Attention, {}: batch {}, {} heads of {} channels, {} threads", pass, o.batch, o.heads, o.dim,
                      report.threads),
          {panel_of(report, pass, "Time", "ms", &AttentionBenchRow::ms),
           panel_of(report, pass, "Peak memory", "MB", &AttentionBenchRow::peak_memory_mb)}};
}

}  // namespace fib::report
