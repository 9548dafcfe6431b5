// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/bench_attention_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/table.h"
#include "cli/torch/bench_frame.h"

namespace fib::cli {
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

struct Curve {
  std::string name;
  std::string data;  // lines "N value"
};

std::vector<Curve> curves(const BenchReport& report, const std::string& pass,
                          std::optional<double> AttentionBenchRow::*value) {
  std::vector<Curve> all;
  for (const std::string& name : contestants_of(report)) {
    Curve curve{name, ""};
    for (const AttentionBenchRow& r : report.rows) {
      if (r.contestant == name && r.pass == pass && r.*value)
        curve.data += fmt::format("{} {}\n", r.tokens, *(r.*value));
    }
    if (!curve.data.empty()) all.push_back(std::move(curve));
  }
  return all;
}

/// Colours that stay apart for colour-blind eyes; memcpy is a grey line of reference.
std::string style_of(const std::string& contestant) {
  if (contestant == "fibottention") return "lc rgb '#0072b2' lw 3 pt 7";
  if (contestant == "fibottention-packed") return "lc rgb '#56b4e9' lw 2 pt 6 dt 2";
  if (contestant == "dense") return "lc rgb '#d55e00' lw 2 pt 5";
  if (contestant == "dense-masked") return "lc rgb '#e69f00' lw 2 pt 4 dt 2";
  return "lc rgb '#888888' lw 1.5 pt 1 dt 3";
}

std::string panel(const std::string& title, const std::string& label, const std::vector<Curve>& drawn,
                  int first_block) {
  std::string script;
  for (size_t i = 0; i < drawn.size(); ++i) {
    script += fmt::format("$data{} << END\n{}END\n", first_block + static_cast<int>(i), drawn[i].data);
  }
  script += fmt::format("set title '{}'\nset ylabel '{}'\nplot ", title, label);
  for (size_t i = 0; i < drawn.size(); ++i) {
    script += fmt::format("{}$data{} with linespoints {} title '{}'", i ? ", " : "", first_block + static_cast<int>(i),
                          style_of(drawn[i].name), drawn[i].name);
  }
  return script + "\n";
}

/// Every size that was measured is a tick.
std::string ticks(const BenchReport& report) {
  std::vector<int64_t> sizes = report.options.tokens;
  std::sort(sizes.begin(), sizes.end());
  std::string text;
  for (int64_t n : sizes) text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", n, n);
  return fmt::format("set xrange [{}:{}]\nset xtics ({})\n", static_cast<double>(sizes.front()) / 1.3,
                     static_cast<double>(sizes.back()) * 1.3, text);
}

}  // namespace

std::optional<double> load_average() {
  double load = 0.0;
  return getloadavg(&load, 1) == 1 ? std::optional(load) : std::nullopt;
}

ordered_json bench_json(const BenchReport& report) {
  auto rows = ordered_json::array();
  for (const AttentionBenchRow& r : report.rows) rows.push_back(row_json(r));
  return {{"machine", report.machine},
          {"threads", report.threads},
          {"attention", report.options.attention.to_string()},
          {"load_average", or_null(report.load)},
          {"operator_overhead_us", report.operator_overhead_us},
          {"rows", rows}};
}

std::string bench_text(const BenchReport& report) {
  using Align = Table::Align;
  Table table({{"contestant"},
               {"pass"},
               {"tokens", Align::right},
               {"ms", Align::right},
               {"median", Align::right},
               {"Mpairs/s", Align::right},
               {"GFLOP/s", Align::right},
               {"GB/s", Align::right},
               {"x dense", Align::right},
               {"/ memcpy", Align::right},
               {"max error", Align::right},
               {"MB", Align::right}});
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
         fmt::format("The torch operator adds {:.1f} µs to the kernel (1 sample of 196 tokens).\n{}",
                     report.operator_overhead_us, busy_note(report));
}

std::string bench_plot_script(const BenchReport& report) {
  const std::string pass = report.options.backward ? "forward+backward" : "forward";
  const auto times = curves(report, pass, &AttentionBenchRow::ms);
  const auto memory = curves(report, pass, &AttentionBenchRow::peak_memory_mb);
  const bench::AttentionBenchOptions& o = report.options;
  return fmt::format("set multiplot layout 1,2 title 'Attention, {}: batch {}, {} heads of {} channels, {} threads'\n",
                     pass, o.batch, o.heads, o.dim, report.threads) +
         "set logscale xy\nset grid xtics ytics back lt 1 lw 1 lc rgb '#e4e4e4'\nset border 3\nset tics nomirror\nset "
         "format y '%g'\n"
         "set key outside below center horizontal reverse Left samplen 2.5\nset bmargin 7\nset xlabel 'patch tokens "
         "N'\n" +
         ticks(report) + panel("Time", "ms", times, 0) +
         panel("Peak memory", "MB", memory, static_cast<int>(times.size())) + "unset multiplot\n";
}

}  // namespace fib::cli
