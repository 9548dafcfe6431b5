// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "cli/torch/commands.h"
#include "cli/torch/train_session.h"
#include "report/words.h"

namespace fib::cli {
namespace {

using namespace training;

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string summary_text(const nlohmann::json& s) {
  Table table({{}, {}});
  const auto& test = s.at("test");
  table.add_row(
      {"test", fmt::format("{} top-1, {} top-5 on {} images ({} weights of epoch {})", percent(test.at("top1")),
                           percent(test.at("top5")), report::grouped(test.at("images").get<int64_t>()),
                           test.at("weights").get<std::string>(), test.at("epoch").get<int64_t>())});
  if (s.contains("images_per_second"))
    table.add_row({"speed", fmt::format("{:.0f} images/s; a step takes {:.1f} ms, {:.1f} of them in attention",
                                        s.at("images_per_second").get<double>(), s.at("step_ms").get<double>(),
                                        s.at("attention_ms").get<double>())});
  table.add_row({"memory", fmt::format("{:.0f} MB at most", s.at("peak_memory_mb").get<double>())});
  return table.to_string();
}

void tell(const TrainArguments& a, const RunFiles& files, bool quiet) {
  std::ifstream in(files.summary());
  const auto summary = nlohmann::ordered_json::parse(in);
  if (a.json)
    fmt::print("{}\n", summary.dump());
  else if (!quiet)
    fmt::print("{}", summary_text(summary));
}

void run(const TrainArguments& a, bool quiet) {
  TrainSession session(a, Launch::from_environment());
  if (session.recipe().prune_ratio > 0)
    throw std::invalid_argument("this recipe prunes (prune_ratio is not 0): use fib prune");
  const int code = session.run(quiet);
  if (code != 0) throw Exit{code};
  if (session.is_first()) tell(a, session.files(), quiet);
}

}  // namespace

void add_train(CLI::App& command, const Globals& globals) {
  const auto a = std::make_shared<TrainArguments>();
  add_train_options(command, *a);
  command.footer(
      "Ctrl-C finishes the step, saves and exits with 130 (SIGTERM: 143); --resume continues to the same bits.\n"
      "Several processes: torchrun --no_python --nproc_per_node 2 fib train …\n"
      "Example: fib train --recipe recipes/fashion-mnist.toml --attention full --out runs/full");
  command.callback([a, &command, &globals] {
    if (command.get_parent()->count("--threads") > 0) a->threads = globals.threads;
    run(*a, globals.quiet);
  });
}

}  // namespace fib::cli
