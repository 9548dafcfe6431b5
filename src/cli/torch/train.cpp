// SPDX-License-Identifier: Apache-2.0
// fib train, fib adapt and fib prune: a session, and what came of it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/training.h"
#include "cli/output.h"
#include "cli/torch/train_session.h"
#include "report/table.h"
#include "report/words.h"
#include "training/torch/adaptation.h"
#include "training/torch/pruning.h"

namespace fib::cli {

using namespace training;

namespace {

using report::Table;

/// "91.23 % top-1, 99.60 % top-5"
std::string figures_text(const std::vector<Figure>& figures) {
  std::string text;
  for (const Figure& figure : figures)
    if (figure_style(figure.name).result)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", figure_text(figure), figure_style(figure.name).label);
  return text;
}

std::string summary_text(const Summary& s) {
  Table table({{}, {}});
  table.add_row(
      {"test", fmt::format("{} on {} {} ({} weights of epoch {})", figures_text(s.test.evaluation.figures),
                           report::grouped(s.test.evaluation.samples), s.judged_by, s.test.weights, s.test.epoch)});
  if (s.speed)
    table.add_row(
        {"speed", fmt::format("{:.0f} {}/s; a step takes {:.1f} ms, {:.1f} of them in attention",
                              s.speed->samples_per_second, s.samples, s.speed->step_ms, s.speed->attention_ms)});
  table.add_row({"memory", fmt::format("{:.0f} MB at most", s.peak_memory_mb)});
  return table.to_string();
}

void show_summary(const TrainArguments& a, const RunFiles& files, bool quiet) {
  const Summary summary = read_summary(files);
  if (a.json)
    print_json(to_json(summary));
  else if (!quiet)
    fmt::print("{}", summary_text(summary));
}

std::string adaptation_text(const AdaptationResult& result, const Recipe& recipe) {
  using enum Table::Align;
  const auto row = [](const std::string& name, const Evaluation& e) {
    const auto percent = [&](const char* figure) { return fmt::format("{:.2f} %", 100 * e.value(figure)); };
    return std::vector<std::string>{name, percent("top1"), percent("top5"), percent("agreement")};
  };
  Table table({{"", left}, {"top-1", right}, {"top-5", right}, {"agrees with dense", right}});
  const std::vector<std::string> names = {"dense", recipe.model.attention + ", same weights",
                                          recipe.model.attention + ", adapted"};
  for (size_t i = 0; i < result.stages.size(); ++i) table.add_row(row(names[i], result.stages[i].evaluation));
  return fmt::format("{}\n{} images. {} of {} layers are sparse; {:.2f} % of all pairs of patch tokens are left out.\n",
                     table.to_string(), report::grouped(result.stages.front().evaluation.samples), result.sparse_layers,
                     result.layers, 100 * result.pruned_share);
}

std::string pruning_text(const PruningResult& result) {
  using enum Table::Align;
  Table table({{"", left}, {"parameters", right}, {"top-1", right}, {"top-5", right}});
  for (const PruningResult::Stage& s : result.stages)
    table.add_row({s.name, report::grouped(s.parameters), fmt::format("{:.2f} %", 100 * s.accuracy.top1),
                   fmt::format("{:.2f} %", 100 * s.accuracy.top5)});
  return fmt::format("{}\nThe pruned model is {}; train it on with fib train --weights.\n", table.to_string(),
                     result.weights.string());
}

void show_pruning(const PruningResult& result, const Recipe& recipe, bool json, bool quiet) {
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

}  // namespace

void run(const TrainArguments& given, const Globals& globals) {
  TrainArguments a = given;
  if (globals.threads_given) a.threads = globals.threads;
  CancelSource cancel;
  Session session = open_session(a, cancel, globals.quiet);
  if (session.recipe().prune.ratio > 0)
    throw std::invalid_argument("this recipe prunes (prune_ratio is not 0): use fib prune");
  run_session(session, a, cancel, globals.quiet);
  if (session.is_first()) show_summary(a, session.files(), globals.quiet);
}

void run(const AdaptArguments& given, const Globals& globals) {
  TrainArguments a = given.train;
  if (globals.threads_given) a.threads = globals.threads;
  CancelSource cancel;
  Session session = open_session(a, cancel, globals.quiet);
  if (session.recipe().run.task != "adaptation")
    throw std::invalid_argument(fmt::format("fib adapt is for the task adaptation, the recipe says {}: use fib train",
                                            session.recipe().run.task));
  run_session(session, a, cancel, globals.quiet);
  if (!session.is_first()) return;
  if (session.is_finished()) return tell_again(session, a);
  const AdaptationResult result = finish_adaptation(session.recipe(), session.files());
  if (a.json)
    print_json(to_json(result, session.recipe()));
  else if (!globals.quiet)
    fmt::print("{}", adaptation_text(result, session.recipe()));
}

void run(const PruneArguments& given, const Globals& globals) {
  PruneArguments a = given;
  if (globals.threads_given) a.train.threads = globals.threads;
  take_ratio(a);
  CancelSource cancel;
  Session session = open_session(a.train, cancel, globals.quiet);
  if (session.recipe().prune.ratio == 0)
    throw std::invalid_argument("--ratio must be above 0 and below 1: the share that is pruned; got 0");
  run_session(session, a.train, cancel, globals.quiet);
  if (!session.is_first()) return;
  if (session.is_finished()) return tell_again(session, a.train);
  const auto& search = dynamic_cast<const PruningSearch&>(*session.trainer().experiment().hook);
  show_pruning(finish_pruning(search, session.recipe(), session.files()), session.recipe(), a.train.json,
               globals.quiet);
}

}  // namespace fib::cli
