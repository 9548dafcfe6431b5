// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_model.h"

#include <fmt/format.h>

#include "cli/progress.h"
#include "kernels/machine.h"
#include "report/torch/model_bench_report.h"

namespace fib::cli {
namespace {

using bench::ModelPass;

std::vector<ModelPass> passes_of(const std::vector<std::string>& names) {
  std::vector<ModelPass> passes;
  for (const std::string& name : names) {
    passes.push_back(name == "forward" ? ModelPass::forward : ModelPass::training);
  }
  return passes;
}

void run(const BenchModelArguments& a, const Globals& globals) {
  if (!a.plot.empty()) report::check_drawing_output(a.plot);
  bench::ModelBenchOptions options = a.options;
  options.attentions = attention_specs(a.attention);
  options.choice = place_choice(a.place);
  options.passes = passes_of(a.passes);
  report::ModelBenchReport report{machine_name(), globals.threads, {}};
  {
    StatusLine line(globals.quiet);
    report.rows =
        bench::bench_model(options, [&](const std::string& what, double done) { show_share(line, what, done); });
  }
  if (a.json) {
    print_json(model_bench_json(report));
  } else if (!globals.quiet) {
    fmt::print("{}", model_bench_text(report));
  }
  if (!a.plot.empty()) write_plot(draw(model_bench_plot(report)), a.plot, a.json || globals.quiet);
}

const TorchRunner<BenchModelArguments> bench_model_runner(run);

}  // namespace
}  // namespace fib::cli
