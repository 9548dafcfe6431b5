// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_attention.h"

#include <fmt/format.h>

#include "bench/torch/attention_bench.h"
#include "cli/progress.h"
#include "kernels/machine.h"
#include "kernels/peak.h"
#include "report/torch/attention_bench_report.h"

namespace fib::cli {
namespace {

void run(const BenchAttentionArguments& a, const Globals& globals) {
  if (!a.plot.empty()) report::check_drawing_output(a.plot);
  bench::AttentionBenchOptions options = a.options;
  options.attention = attention_spec(a.attention);
  report::BenchReport report{machine_name(), globals.threads, options, 0.0, peak_gflops(), read_rates(), {}};
  report.operator_overhead_us = bench::operator_overhead_us();
  {
    StatusLine line(globals.quiet);
    report.rows =
        bench::bench_attention(options, [&](const std::string& what, double done) { show_share(line, what, done); });
  }
  if (a.json) {
    print_json(bench_json(report));
  } else if (!globals.quiet) {
    fmt::print("{}", bench_text(report));
  }
  if (!a.plot.empty()) write_plot(draw(bench_plot(report)), a.plot, a.json || globals.quiet);
}

const TorchRunner<BenchAttentionArguments> bench_attention_runner(run);

}  // namespace
}  // namespace fib::cli
