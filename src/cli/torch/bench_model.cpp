// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/options.h"
#include "cli/torch/bench_frame.h"
#include "cli/torch/bench_model_report.h"
#include "cli/torch/commands.h"
#include "report/gnuplot.h"

namespace fib::cli {
namespace {

using bench::ModelPass;

struct BenchModelArguments {
  bench::ModelBenchOptions options;
  AttentionListArguments attention{.attentions = {"fibottention"}};
  std::vector<std::string> passes = {"forward"};
  std::string plot;
  bool json = false;
};

void declare(CLI::App& command, BenchModelArguments& a) {
  command.add_option("--model", a.options.model, "a name of fib models")->type_name("NAME")->capture_default_str();
  add_integers(command, "--resolution", a.options.resolutions, kResolutions,
               "sides of square pictures; the model's own");
  add_attention_list_options(command, a.attention);
  add_integer(command, "--batch", a.options.batch, {1, 65536}, "pictures at once")->capture_default_str();
  command.add_option("--pass", a.passes, "what is timed; training is forward, backward and an AdamW step")
      ->delimiter(',')
      ->check(CLI::IsMember({"forward", "training"}))
      ->type_name("forward,training")
      ->default_str("forward");
  command.add_option("--seconds", a.options.timing.seconds, "time to spend per resolution and pass, about")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  command.add_flag("--json", a.json, "for machines");
  command.add_option("--plot", a.plot, "time and memory against the resolution, as .svg or .png")->type_name("F");
  command.footer(
      "Full attention always runs too; all take turns in one run, and the shortest time of each counts.\n"
      "Memory is what making the model and one pass add to the process.\n"
      "Example: fib bench model --model vit_small_patch16_224 --resolution 224,384 --pass forward,training");
}

std::vector<ModelPass> passes_of(const std::vector<std::string>& names) {
  std::vector<ModelPass> passes;
  for (const std::string& name : names) {
    passes.push_back(name == "forward" ? ModelPass::forward : ModelPass::training);
  }
  return passes;
}

void run(const BenchModelArguments& a, const Globals& globals) {
  if (!a.plot.empty()) report::check_plot_name(a.plot);
  bench::ModelBenchOptions options = a.options;
  options.attentions = attention_specs(a.attention);
  options.passes = passes_of(a.passes);
  ModelBenchReport report{machine_name(), globals.threads, {}};
  {
    const ProgressLine line(globals.quiet);
    report.rows = bench::bench_model(options, [&](const std::string& what, double done) { line.show(what, done); });
  }
  if (a.json) {
    fmt::print("{}\n", model_bench_json(report).dump());
  } else if (!globals.quiet) {
    fmt::print("{}", model_bench_text(report));
  }
  if (!a.plot.empty()) report::write_plot(model_bench_plot(report), a.plot);
}

}  // namespace

void add_bench_model(CLI::App& command, const Globals& globals) {
  const auto arguments = std::make_shared<BenchModelArguments>();
  declare(command, *arguments);
  command.callback([arguments, &globals] { run(*arguments, globals); });
}

}  // namespace fib::cli
