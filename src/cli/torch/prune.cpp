// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/prune.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "cli/app.h"
#include "cli/table.h"
#include "cli/torch/train_session.h"
#include "data/open_dataset.h"
#include "models/torch/weights.h"
#include "report/words.h"
#include "training/torch/prune/compress.h"
#include "training/torch/prune/search.h"

namespace fib::cli {
namespace {

using namespace training;

/// What becomes of a model on the way, on the test set.
struct Stage {
  const char* name;
  int64_t parameters = 0;
  Evaluation result{};
};

Evaluation tested(models::Model& model, const Recipe& recipe) {
  const DatasetPtr data = open_dataset(recipe.data, DatasetPart::test);
  ProcessGroup alone;
  return evaluate(model, *evaluation_loader(data, recipe, model.dimensions().height), alone,
                  [](int64_t /*done*/, int64_t /*total*/) {});
}

Stage stage(const char* name, models::Model& model, const Recipe& recipe) {
  return {name, model.cost().parameters, tested(model, recipe)};
}

/// The model that the search began with.
Stage before(const Recipe& recipe) {
  const DatasetPtr data = open_dataset(recipe.data, DatasetPart::test);
  const models::ModelPtr model =
      models::make_with_weights(recipe.model, recipe.weights, model_options(recipe, data->info()));
  return stage("before", *model, recipe);
}

nlohmann::ordered_json pruning_json(const Recipe& recipe, const std::vector<Stage>& stages, const std::string& file) {
  nlohmann::ordered_json json = {{"model", recipe.model},
                                 {"attention", recipe.attention},
                                 {"data", recipe.data},
                                 {"ratio", recipe.prune_ratio},
                                 {"weights", file}};
  for (const Stage& s : stages) {
    json[s.name] = {
        {"parameters", s.parameters}, {"top1", s.result.top1}, {"top5", s.result.top5}, {"loss", s.result.loss}};
  }
  return json;
}

std::string pruning_text(const std::vector<Stage>& stages, const std::string& file) {
  using enum Table::Align;
  Table table({{"", left}, {"parameters", right}, {"top-1", right}, {"top-5", right}});
  for (const Stage& s : stages) {
    table.add_row({s.name, report::grouped(s.parameters), fmt::format("{:.2f} %", 100 * s.result.top1),
                   fmt::format("{:.2f} %", 100 * s.result.top5)});
  }
  return table.to_string() + "\nThe pruned model is " + file + "; train it on with fib train --weights.\n";
}

void finish(TrainSession& session, const PruneArguments& a, bool quiet) {
  const Recipe& recipe = session.recipe();
  auto& model = dynamic_cast<models::Vit&>(session.trainer().model());
  const auto& search = dynamic_cast<const PruningSearch&>(*session.trainer().companion());
  const models::ModelPtr small = compressed(model, search.masks());
  const std::filesystem::path file = session.files().pruned();
  models::save_weights(*small, file, {{"format", "pt"}, {"model", recipe.model}, {"attention", recipe.attention}});
  std::vector<Stage> stages;
  if (!recipe.weights.empty()) stages.push_back(before(recipe));
  stages.push_back(stage("pruned", *small, recipe));
  const auto json = pruning_json(recipe, stages, file.string());
  write_file_atomically(session.files().root / "pruning.json", json.dump(2) + "\n");
  if (a.train.json) {
    fmt::print("{}\n", json.dump());
  } else if (!quiet) {
    fmt::print("{}", pruning_text(stages, file.string()));
  }
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
  TrainSession session(a.train, Launch::from_environment());
  if (session.recipe().prune_ratio == 0)
    throw std::invalid_argument("--ratio must be above 0 and below 1: the share that is pruned; got 0");
  const int code = session.run(globals.quiet);
  if (code != 0) throw Exit{code};
  if (session.is_first()) finish(session, a, globals.quiet);
}

const TorchRunner<PruneArguments> prune_runner(run);

}  // namespace
}  // namespace fib::cli
