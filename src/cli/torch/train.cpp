// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/train.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/table.h"
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

void run(const TrainArguments& given, const Globals& globals) {
  TrainArguments a = given;
  if (globals.threads_given) a.threads = globals.threads;
  TrainSession session(a, Launch::from_environment());
  if (session.recipe().prune_ratio > 0)
    throw std::invalid_argument("this recipe prunes (prune_ratio is not 0): use fib prune");
  const int code = session.run(globals.quiet);
  if (code != 0) throw Exit{code};
  if (session.is_first()) tell(a, session.files(), globals.quiet);
}

const TorchRunner<TrainArguments> train_runner(run);

}  // namespace
}  // namespace fib::cli
