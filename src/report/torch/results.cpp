// SPDX-License-Identifier: Apache-2.0
#include "report/torch/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/fields.h"
#include "report/text.h"

namespace fib::report {

// ---- fib bench attention, fib bench data

namespace {

using bench::AttentionBenchRow;
using nlohmann::ordered_json;

/// Three significant digits, without an exponent where people expect none.
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size >= 100.0) return fmt::format("{:.0f}", value);
  return size >= 10.0  ? fmt::format("{:.1f}", value)
         : size >= 0.1 ? fmt::format("{:.2f}", value)
                       : fmt::format("{:.3g}", value);
}

using Number = std::optional<double> AttentionBenchRow::*;

/// A field of three significant digits.
Field<AttentionBenchRow> figure(const char* key, const char* title, Number value) {
  return field<AttentionBenchRow>(
      key, title, [value](const AttentionBenchRow& r) { return r.*value; }, three_digits);
}

Field<AttentionBenchRow> integer(const char* key, const char* title, int64_t AttentionBenchRow::*value) {
  return field<AttentionBenchRow>(
      key, title, [value](const AttentionBenchRow& r) { return r.*value; },
      [](int64_t n) { return std::to_string(n); });
}

Fields<AttentionBenchRow> row_fields() {
  using Row = AttentionBenchRow;
  return {text_field<Row>("contestant", "contestant", [](const Row& r) { return r.contestant; }),
          text_field<Row>("pass", "pass", [](const Row& r) { return r.pass; }),
          integer("batch", "", &Row::batch),
          integer("tokens", "tokens", &Row::tokens),
          integer("heads", "", &Row::heads),
          integer("dim", "", &Row::dim),
          figure("ms", "ms", &Row::ms),
          figure("ms_median", "median", &Row::ms_median),
          field<Row>(
              "pairs_per_second", "Mpairs/s", [](const Row& r) { return r.pairs_per_second; },
              [](double pairs) { return three_digits(pairs * 1e-6); }),
          figure("gflops", "GFLOP/s", &Row::gflops),
          figure("gb_per_second", "GB/s", &Row::gb_per_second),
          figure("speedup_over_dense", "x dense", &Row::speedup_over_dense),
          figure("speedup_over_fastest_dense", "x fastest", &Row::speedup_over_fastest_dense),
          share_field<Row>(
              "share_of_ideal", "of ideal", [](const Row& r) { return r.share_of_ideal; }, 0),
          figure("over_memcpy", "/ memcpy", &Row::over_memcpy),
          field<Row>(
              "max_error", "max error", [](const Row& r) { return r.max_error; },
              [](double error) { return fmt::format("{:.1e}", error); }),
          figure("peak_memory_mb", "MB", &Row::peak_memory_mb),
          figure("memory_over_tensors", "", &Row::memory_over_tensors),
          hidden_field<Row>("reason",
                            [](const Row& r) { return r.reason.empty() ? std::nullopt : std::optional(r.reason); })};
}

/// Null where the kernel was not faster at any size that was asked for.
ordered_json break_even_json(const BenchReport& report) {
  ordered_json json = ordered_json::object();
  for (const bench::BreakEven& even : report.break_even)
    json[even.pass] = even.tokens ? ordered_json(*even.tokens) : ordered_json();
  return json;
}

std::string ideal_note(const BenchReport& report) {
  std::string text =
      "x fastest: against the fastest dense contestant; of ideal: that over the pairs of dense / own pairs.\n";
  for (const bench::BreakEven& even : report.break_even) {
    if (even.tried.empty()) continue;
    text += even.tokens ? fmt::format("Sparse is faster than every dense contestant from {} tokens on ({}).\n",
                                      *even.tokens, even.pass)
                        : fmt::format("Sparse is not faster than the fastest dense contestant up to {} tokens ({}).\n",
                                      even.tried.back(), even.pass);
  }
  return text;
}

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
  return {
      {"machine", report.machine},
      {"threads", report.threads},
      {"attention", report.options.attention.to_string()},
      {"load_average", or_null(report.load)},
      {"operator_overhead_us", report.operator_overhead_us},
      {"peak_gflops", report.peak_gflops},
      {"faster_from_tokens", break_even_json(report)},
      {"read_gb_per_second", {{"first_cache", report.read_rates.first}, {"second_cache", report.read_rates.second}}},
      {"rows", fields_json(row_fields(), report.rows)}};
}

std::string bench_text(const BenchReport& report) {
  std::string notes;
  for (const AttentionBenchRow& r : report.rows)
    if (!r.reason.empty() && r.pass == "forward")
      notes += fmt::format("{} at {} tokens does not fit: {}\n", r.contestant, r.tokens, r.reason);
  const bench::AttentionBenchOptions& o = report.options;
  return fmt::format("{}; {} threads; {}, batch {}, {} heads of {} channels, {} class tokens\n\n{}\n{}",
                     machine_text(report.machine), report.threads, o.attention.to_string(), o.batch, o.heads, o.dim,
                     o.cls, fields_table(row_fields(), report.rows), notes) +
         ideal_note(report) + overhead_note(report.operator_overhead_us) +
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

nlohmann::ordered_json data_bench_json(const DataBenchReport& report) {
  const training::Recipe& recipe = report.recipe;
  return {{"machine", report.machine},
          {"threads", report.threads},
          {"data", recipe.data.source},
          {"model", recipe.model.name},
          {"attention", recipe.model.attention},
          {"batch", recipe.optimizer.batch},
          {"samples", report.bench.samples},
          {"loader_images_per_second", report.bench.loader_images_per_second},
          {"training_images_per_second", report.bench.training_images_per_second},
          {"ratio", report.bench.ratio()}};
}

std::string data_bench_text(const DataBenchReport& report) {
  const training::Recipe& recipe = report.recipe;
  const bench::DataBench& b = report.bench;
  return fmt::format("{}: {:.4g} {}/s from the loader alone\n", recipe.data.source, b.loader_images_per_second,
                     b.samples) +
         fmt::format("{} with {}: {:.4g} {}/s in steps of training, batch {}\n", recipe.model.name,
                     recipe.model.attention, b.training_images_per_second, b.samples, recipe.optimizer.batch) +
         fmt::format("The loader is {:.1f} times as fast as training.\n", b.ratio());
}

// ---- fib train, fib prune

nlohmann::ordered_json rate_search_json(const training::RateSearch& search) {
  auto rows = nlohmann::ordered_json::array();
  for (const training::RatePoint& point : search.points)
    rows.push_back({{"lr", point.lr}, {"loss", point.loss}, {"smoothed", point.smoothed}});
  return {{"lr", search.suggested}, {"largest", search.largest}, {"rows", std::move(rows)}};
}

std::string rate_search_text(const training::RateSearch& search) {
  return fmt::format(
      "The loss falls fastest at --lr {:.1e}; beyond {:.1e} it rises.\n{} steps, from {:.1e} to {:.1e}; nothing was "
      "kept.\n",
      search.suggested, search.largest, search.points.size(), search.points.front().lr, search.points.back().lr);
}

LinePlot rate_search_plot(const training::RateSearch& search) {
  Series steps{"loss of a step", {}}, smoothed{"smoothed", {}}, chosen{"falls fastest", {}};
  for (const training::RatePoint& point : search.points) {
    steps.points.push_back({point.lr, point.loss});
    smoothed.points.push_back({point.lr, point.smoothed});
    if (point.lr == search.suggested)
      chosen.points.push_back({point.lr, point.smoothed, fmt::format("{:.1e}", point.lr)});
  }
  return {"Search of a learning rate",
          {{.title = "",
            .x_label = "learning rate",
            .y_label = "loss",
            .series = {std::move(steps), std::move(smoothed), std::move(chosen)},
            .x = {.log = true}}}};
}

namespace {

using training::PruningResult;
using training::Summary;

/// "91.23 % top-1, 99.60 % top-5"
std::string metrics_text(const std::vector<training::Metric>& metrics) {
  std::string text;
  for (const training::Metric& metric : metrics)
    // That all are among the best five says nothing: of five classes they always are.
    if (const auto style = training::metric_style(metric.name);
        style.result && !(metric.name == "top5" && metric.value == 1))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", metric_text(metric), style.label);
  return text;
}

std::string test_text(const Summary& s) {
  const training::Evaluation& e = s.test.evaluation;
  return fmt::format("{} on {} {} ({} weights of epoch {})", metrics_text(e.metrics), grouped(e.samples),
                     s.evaluation_unit, s.test.weights, s.test.epoch);
}

std::string speed_text(const Summary& s) {
  return fmt::format("{:.0f} {}/s; a step takes {:.1f} ms, {:.1f} of them in attention", s.speed->samples_per_second,
                     s.samples, s.speed->step_ms, s.speed->attention_ms);
}

Fields<PruningResult::Stage> pruning_fields() {
  using Row = PruningResult::Stage;
  return {shown_field<Row>(
              "stage", [](const Row& s) { return s.name; }, Table::Align::left),
          count_field<Row>("parameters", "parameters", [](const Row& s) { return s.parameters; }),
          share_field<Row>(
              "top1", "top-1", [](const Row& s) { return s.accuracy.top1; }, 2),
          share_field<Row>(
              "top5", "top-5", [](const Row& s) { return s.accuracy.top5; }, 2)};
}

}  // namespace

std::string summary_text(const Summary& s) {
  Fields<Summary> fields = {shown_field<Summary>("test", test_text)};
  if (s.speed) fields.push_back(shown_field<Summary>("speed", speed_text));
  fields.push_back(
      shown_field<Summary>("memory", [](const Summary& run) { return fixed(run.peak_memory_mb, 0) + " MB at most"; }));
  return fields_lines(fields, s);
}

std::string pruning_text(const PruningResult& result) {
  return fmt::format("{}\nThe pruned model is {}; train it on with fib train --weights.\n",
                     fields_table(pruning_fields(), result.stages), result.weights.string());
}

}  // namespace fib::report
