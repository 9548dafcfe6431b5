// SPDX-License-Identifier: Apache-2.0
// fib train, fib adapt and fib prune: a session, and what came of it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/atomic_file.h"
#include "bench/torch/attention_choice.h"
#include "cli/app.h"
#include "cli/commands/training.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/stop_signals.h"
#include "cli/torch/train_session.h"
#include "report/text.h"
#include "report/torch/results.h"
#include "training/recipe/begin.h"
#include "training/torch/adaptation.h"
#include "training/torch/pruning.h"

namespace fib::cli {

using namespace training;

namespace {

using report::Table;

void show_summary(const TrainArguments& a, const RunFiles& files, const Globals& globals) {
  const Summary summary = read_summary(files);
  show(
      globals, a.json, [&] { return to_json(summary); }, [&] { return report::summary_text(summary); });
}

std::string adaptation_text(const AdaptationResult& result, const Recipe& recipe) {
  using enum Table::Align;
  const auto row = [](const std::string& name, const Evaluation& e) {
    const auto percent = [&](const char* metric) { return fmt::format("{:.2f} %", 100 * e.value(metric)); };
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

// ---- fib adapt --keep-accuracy, --speedup

/// Dense attention, that of the recipe, and it with the neighbors on the grid and more and more summaries.
std::vector<AttentionSpec> candidates_for(const Recipe& recipe, const models::Dimensions& dims) {
  const AttentionSpec asked = AttentionSpec::parse(recipe.model.attention);
  for (const auto& [key, value] : asked.options)
    if (key == "grid" || key == "summaries" || key == "file")
      throw std::invalid_argument(fmt::format(
          "--keep-accuracy and --speedup add grid and summaries themselves, to a mechanism without {}: got {}", key,
          asked.to_string()));
  std::vector<AttentionSpec> all = {{"full", {}}, asked};
  for (const int64_t side : {0, 2, 4, 7}) {
    if (2 * side > std::min(dims.grid().height, dims.grid().width)) break;
    all.push_back(asked);
    all.back().options.emplace_back("grid", "3");
    if (side > 0) all.back().options.emplace_back("summaries", fmt::format("{0}x{0}", side));
  }
  return all;
}

std::string choice_text(const bench::AttentionChoice& choice, const bench::ChoicePoint& chosen) {
  using enum Table::Align;
  Table table({{""}, {"accuracy kept", right}, {"pairs", right}, {"ms", right}, {"speedup", right}, {"layers"}});
  for (const bench::ChoicePoint& p : choice.curve)
    table.add_row({&p == &chosen ? "->" : "", fmt::format("{:.1f} %", 100 * p.kept),
                   fmt::format("{:.1f} %", 100 * p.pairs), fmt::format("{:.2f}", p.ms),
                   fmt::format("{:.2f}", choice.speedup(p)), choice.text_of(p)});
  return fmt::format("{}\nMeasured on {} images with nothing trained; ms of the compiled model, one image, float32.\n",
                     table.to_string(), report::grouped(choice.images));
}

/// Images that nothing is judged by in the end.
DatasetPtr images_to_choose_by(const Recipe& recipe, int64_t count) {
  const DataSplits splits = open_splits(recipe);
  const auto wanted = static_cast<size_t>(count);
  const bool enough = splits.validation && splits.validation->size() >= wanted;
  return evenly_chosen(enough ? splits.validation : splits.train, wanted);
}

bench::AttentionChoice measured_choice(const Recipe& recipe, const TrainedModel& teacher, const AdaptArguments& a,
                                       const Globals& globals, const std::filesystem::path& offsets) {
  CancelSource cancel;
  const StopSignals signals(cancel, "stopping: nothing has been chosen yet\n");
  StatusLine status(globals.quiet);
  bench::ChoiceOptions options{.candidates = candidates_for(recipe, teacher.module->dimensions()), .offsets = offsets};
  options.cancel = cancel.token();
  options.progress = [&](const std::string& what, double done) { show_share(status, what, done); };
  try {
    return bench::measure_choice(teacher, images_to_choose_by(recipe, a.choice_images), options);
  } catch (const Cancelled&) {
    status.clear();
    throw Exit{128 + cancel.token().signal()};
  }
}

std::filesystem::path offsets_of(const RunFiles& files) { return files.root / "attention.offsets"; }

/// Leaves the choice in the run's directory.
void write_choice(const RunFiles& files, const AdaptArguments& a, const Globals& globals) {
  const Recipe recipe = settled_recipe(recipe_of(a.train.recipe, a.train.base));
  use_torch_threads(globals.threads_given || recipe.run.threads == 0 ? globals.threads : recipe.run.threads);
  const TrainedModel teacher = open_teacher(recipe);
  const bench::AttentionChoice choice = measured_choice(recipe, teacher, a, globals, offsets_of(files));
  const bench::ChoicePoint& chosen = a.speedup > 0 ? choice.faster(a.speedup) : choice.keeping(a.keep_accuracy);
  write_file_atomically(files.root / "attention.json", to_json(choice, chosen).dump(2) + "\n");
  bench::write_assignment(offsets_of(files), choice, chosen.assignment, teacher.module->dimensions());
  if (!globals.quiet && !a.train.json) fmt::print("{}", choice_text(choice, chosen));
}

void choose_attention(AdaptArguments& a, const Globals& globals) {
  if (a.keep_accuracy == 0 && a.speedup == 0) return;
  const RunFiles files{a.train.out};
  if (a.train.resume || std::filesystem::exists(files.config()))
    throw std::invalid_argument(fmt::format(
        "--keep-accuracy and --speedup begin a new run; continue the one in '{}' with --resume alone", a.train.out));
  const bool made = std::filesystem::create_directories(files.root);
  try {
    write_choice(files, a, globals);
  } catch (...) {
    std::error_code ignored;
    if (made) std::filesystem::remove(files.root, ignored);
    throw;
  }
  a.train.recipe.chosen_attention = "offsets:file=" + offsets_of(files).string();
}

void take_ratio(PruneArguments& a) {
  if (a.ratio.empty()) return;
  const Option& option = find_option("prune_ratio");
  a.train.recipe.given.emplace_back(&option, a.ratio);
}

/// fib train --find-lr
void find_rate(const TrainArguments& a, const Globals& globals) {
  if (!a.plot.empty()) report::check_drawing_output(a.plot);
  const Experiment experiment = prepare(settled(recipe_of(a.recipe, a.base), all_tasks()), {}, all_tasks());
  use_torch_threads(globals.threads, std::max<int64_t>(1, experiment.recipe.data.workers));
  RateSearchOptions options;
  RateSearch search;
  {
    CancelSource cancel;
    const StopSignals signals(cancel);
    options.cancel = cancel.token();
    ProgressBar progress("steps", options.steps, globals.quiet || a.json);
    options.progress = [&](int64_t done) { progress.show(done); };
    try {
      search = search_rate(experiment, options);
    } catch (const Cancelled&) {
      throw Exit{128 + std::max(1, cancel.token().signal())};
    }
  }
  show(
      globals, a.json, [&] { return report::rate_search_json(search); },
      [&] { return report::rate_search_text(search); });
  if (!a.plot.empty()) write_plot(draw(report::rate_search_plot(search)), a.plot, a.json || globals.quiet);
}

}  // namespace

void run(const TrainArguments& a, const Globals& globals) {
  if (a.find_lr) return find_rate(a, globals);
  if (a.out.empty()) throw std::invalid_argument("where does the run go? Give --out DIR");
  CancelSource cancel;
  Session session = open_session(a, globals, cancel);
  if (session.recipe().prune.ratio > 0)
    throw std::invalid_argument("this recipe prunes (prune_ratio is not 0): use fib prune");
  run_session(session, a, cancel, globals.quiet);
  if (session.is_first()) show_summary(a, session.files(), globals);
}

void run(const AdaptArguments& given, const Globals& globals) {
  AdaptArguments chosen = given;
  choose_attention(chosen, globals);
  const TrainArguments& a = chosen.train;
  CancelSource cancel;
  Session session = open_session(a, globals, cancel);
  if (session.recipe().run.task != "adaptation")
    throw std::invalid_argument(fmt::format("fib adapt is for the task adaptation, the recipe says {}: use fib train",
                                            session.recipe().run.task));
  run_session(session, a, cancel, globals.quiet);
  if (!session.is_first()) return;
  if (session.is_finished()) return tell_again(session, a);
  const AdaptationResult result = finish_adaptation(session.recipe(), session.files());
  show(
      globals, a.json, [&] { return to_json(result, session.recipe()); },
      [&] { return adaptation_text(result, session.recipe()); });
}

void run(const PruneArguments& given, const Globals& globals) {
  PruneArguments a = given;
  take_ratio(a);
  CancelSource cancel;
  Session session = open_session(a.train, globals, cancel);
  if (session.recipe().prune.ratio == 0)
    throw std::invalid_argument("--ratio must be above 0 and below 1: the share that is pruned; got 0");
  run_session(session, a.train, cancel, globals.quiet);
  if (!session.is_first()) return;
  if (session.is_finished()) return tell_again(session, a.train);
  const auto& search = dynamic_cast<const PruningSearch&>(*session.trainer().experiment().hook);
  const PruningResult result = finish_pruning(search, session.recipe(), session.files());
  show(
      globals, a.train.json, [&] { return to_json(result, session.recipe()); },
      [&] { return report::pruning_text(result); });
}

}  // namespace fib::cli
