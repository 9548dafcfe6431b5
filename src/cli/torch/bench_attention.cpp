// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "bench/torch/attention_bench.h"
#include "cli/options.h"
#include "cli/torch/bench_attention_report.h"
#include "cli/torch/bench_frame.h"
#include "cli/torch/commands.h"
#include "report/gnuplot.h"

namespace fib::cli {
namespace {

struct Arguments {
  AttentionArguments attention;
  bench::AttentionBenchOptions options;
  bool json = false;
  std::string plot;
};

void run(const Arguments& a, const Globals& globals) {
  if (!a.plot.empty()) report::check_plot_name(a.plot);
  bench::AttentionBenchOptions options = a.options;
  options.attention = attention_spec(a.attention);
  BenchReport report{machine_name(), globals.threads, options, 0.0, {}};
  report.operator_overhead_us = bench::operator_overhead_us();
  {
    const ProgressLine line(globals.quiet);
    report.rows = bench::bench_attention(options, [&](const std::string& what, double done) { line.show(what, done); });
  }
  if (!a.plot.empty()) report::draw_with_gnuplot(bench_plot_script(report), a.plot);
  if (a.json) {
    fmt::print("{}\n", bench_json(report).dump(1));
  } else if (!globals.quiet) {
    fmt::print("{}", bench_text(report));
  }
}

}  // namespace

void add_bench_attention(CLI::App& command, const Globals& globals) {
  const auto a = std::make_shared<Arguments>();
  bench::AttentionBenchOptions& o = a->options;
  add_integers(command, "--tokens", o.tokens, {1, kMaxTokens / 2}, "patch tokens N; class tokens come on top")
      ->default_str("196,784,4096");
  add_integer(command, "--heads", o.heads, {1, 1024}, "heads")->capture_default_str();
  add_integer(command, "--dim", o.dim, {1, 512}, "channels per head")->capture_default_str();
  add_integer(command, "--batch", o.batch, {1, 65536}, "samples")->capture_default_str();
  add_integer(command, "--cls", o.cls, {0, 16}, "class tokens")->capture_default_str();
  add_attention_options(command, a->attention);
  command.add_flag("--backward", o.backward, "also time forward and backward together");
  command.add_option("--seconds", o.timing.seconds, "time to spend per size, about")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  command.add_flag("--json", a->json, "for machines");
  command.add_option("--plot", a->plot, "time and memory against N, as .svg or .png")->type_name("FILE");
  command.footer(
      "Each contestant is verified against a float64 oracle on sampled rows (max error: relative to max |v|), then all "
      "are "
      "timed in turn.\nGFLOP/s count 4 d per pair forward, 14 d with backward; GB/s count q, k, v and out once.\n"
      "Example: fib bench attention --tokens 196,784,4096 --backward --plot bench.svg");
  command.callback([a, &globals] { run(*a, globals); });
}

}  // namespace fib::cli
