// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/adapt.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/output.h"
#include "cli/torch/train_session.h"
#include "report/table.h"
#include "report/words.h"
#include "training/torch/adaptation.h"

namespace fib::cli {
namespace {

using report::Table;

using namespace training;

std::string adaptation_text(const AdaptationResult& result, const Recipe& recipe) {
  using enum Table::Align;
  const auto row = [](const std::string& name, const Evaluation& e) {
    const auto percent = [&](const char* figure) { return fmt::format("{:.2f} %", 100 * e.value(figure)); };
    return std::vector<std::string>{name, percent("top1"), percent("top5"), percent("agreement")};
  };
  Table table({{"", left}, {"top-1", right}, {"top-5", right}, {"agrees with dense", right}});
  const std::vector<std::string> names = {"dense", recipe.attention + ", same weights", recipe.attention + ", adapted"};
  for (size_t i = 0; i < result.stages.size(); ++i) table.add_row(row(names[i], result.stages[i].evaluation));
  return fmt::format("{}\n{} images. {} of {} layers are sparse; {:.2f} % of all pairs of patch tokens are left out.\n",
                     table.to_string(), report::grouped(result.stages.front().evaluation.samples), result.sparse_layers,
                     result.layers, 100 * result.pruned_share);
}

void run(const AdaptArguments& given, const Globals& globals) {
  TrainArguments a = given.train;
  if (globals.threads_given) a.threads = globals.threads;
  Session session = open_session(a, globals.quiet);
  if (session.recipe().task != "adaptation")
    throw std::invalid_argument(
        fmt::format("fib adapt is for the task adaptation, the recipe says {}: use fib train", session.recipe().task));
  run_session(session, a, globals.quiet);
  if (!session.is_first()) return;
  if (session.is_finished()) return tell_again(session, a);
  const AdaptationResult result = finish_adaptation(session.recipe(), session.files());
  if (a.json)
    print_json(to_json(result, session.recipe()));
  else if (!globals.quiet)
    fmt::print("{}", adaptation_text(result, session.recipe()));
}

const TorchRunner<AdaptArguments> adapt_runner(run);

}  // namespace
}  // namespace fib::cli
