// SPDX-License-Identifier: Apache-2.0
#include "bench/torch/attention_bench.h"
#include "bench/torch/model_bench.h"
#include "cli/commands/benchmarks.h"
#include "cli/output.h"
#include "cli/torch/train_session.h"
#include "kernels/machine.h"
#include "report/model_report.h"
#include "report/torch/results.h"
#include "report/torch/robots/policy_bench_report.h"

namespace fib::cli {
namespace {

using bench::ModelPass;

std::vector<ModelPass> passes_of(const std::vector<std::string>& names) {
  std::vector<ModelPass> passes;
  for (const std::string& name : names) passes.push_back(name == "forward" ? ModelPass::forward : ModelPass::training);
  return passes;
}

}  // namespace

void run(const BenchAttentionArguments& a, const Globals& globals) {
  if (!a.plot.empty()) report::check_drawing_output(a.plot);
  bench::AttentionBenchOptions options = a.options;
  options.attention = attention_spec(a.attention);
  report::BenchReport report{machine_name(), globals.threads, options, 0.0, peak_gflops(), read_rates(), {}, {}};
  report.operator_overhead_us = bench::operator_overhead_us();
  {
    StatusLine line(globals.quiet);
    report.rows =
        bench::bench_attention(options, [&](const std::string& what, double done) { show_share(line, what, done); });
    report.break_even =
        bench::break_even(options, [&](const std::string& what, double done) { show_share(line, what, done); });
  }
  show(
      globals, a.json, [&] { return bench_json(report); }, [&] { return bench_text(report); });
  if (!a.plot.empty()) write_plot(draw(bench_plot(report)), a.plot, a.json || globals.quiet);
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
  show(
      globals, a.json, [&] { return model_bench_json(report); }, [&] { return model_bench_text(report); });
  if (!a.plot.empty()) write_plot(draw(model_bench_plot(report)), a.plot, a.json || globals.quiet);
}

void run(const BenchPolicyArguments& a, const Globals& globals) {
  const robots::TrainedPolicy trained = robots::open_policy(a.run);
  robots::CompiledPolicy compiled(a.engine);
  const report::PolicyBenchReport report{machine_name(), globals.threads,
                                         bench::bench_policy(trained, compiled, a.timing)};
  show(
      globals, a.json, [&] { return policy_bench_json(report); }, [&] { return policy_bench_text(report); });
}

void run(const BenchDataArguments& a, const Globals& globals) {
  const training::Recipe recipe = recipe_of(a.recipe, {});
  const report::DataBenchReport report{machine_name(), globals.threads, recipe,
                                       bench::bench_data(recipe, a.seconds, all_tasks())};
  show(
      globals, a.json, [&] { return data_bench_json(report); }, [&] { return data_bench_text(report); });
}

}  // namespace fib::cli
