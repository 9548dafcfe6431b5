// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/prune.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/output.h"
#include "cli/torch/train_session.h"
#include "report/table.h"
#include "report/words.h"
#include "training/torch/pruning.h"

namespace fib::cli {
namespace {

using report::Table;

using namespace training;

std::string pruning_text(const PruningResult& result) {
  using enum Table::Align;
  Table table({{"", left}, {"parameters", right}, {"top-1", right}, {"top-5", right}});
  for (const PruningResult::Stage& s : result.stages)
    table.add_row({s.name, report::grouped(s.parameters), fmt::format("{:.2f} %", 100 * s.accuracy.top1),
                   fmt::format("{:.2f} %", 100 * s.accuracy.top5)});
  return fmt::format("{}\nThe pruned model is {}; train it on with fib train --weights.\n", table.to_string(),
                     result.weights.string());
}

void tell(const PruningResult& result, const Recipe& recipe, bool json, bool quiet) {
  if (json)
    print_json(to_json(result, recipe));
  else if (!quiet)
    fmt::print("{}", pruning_text(result));
}

void take_ratio(PruneArguments& a) {
  if (a.ratio.empty()) return;
  const Option& option = find_option("prune_ratio");
  a.train.recipe.given.emplace_back(&option, a.ratio);
}

void run(const PruneArguments& given, const Globals& globals) {
  PruneArguments a = given;
  if (globals.threads_given) a.train.threads = globals.threads;
  take_ratio(a);
  Session session = open_session(a.train, globals.quiet);
  if (session.recipe().prune_ratio == 0)
    throw std::invalid_argument("--ratio must be above 0 and below 1: the share that is pruned; got 0");
  run_session(session, a.train, globals.quiet);
  if (!session.is_first()) return;
  if (session.is_finished()) return tell_again(session, a.train);
  const auto& search = dynamic_cast<const PruningSearch&>(*session.trainer().experiment().hook);
  tell(finish_pruning(search, session.recipe(), session.files()), session.recipe(), a.train.json, globals.quiet);
}

const TorchRunner<PruneArguments> prune_runner(run);

}  // namespace
}  // namespace fib::cli
