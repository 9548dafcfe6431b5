// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/atomic_file.h"
#include "cli/recipe_options.h"
#include "cli/stop_signals.h"
#include "cli/table.h"
#include "cli/torch/commands.h"
#include "cli/torch/train_observer.h"
#include "report/words.h"
#include "training/recipe/toml.h"
#include "training/trainer.h"

namespace fib::cli {
namespace {

using namespace training;

struct TrainArguments {
  RecipeArguments recipe;
  std::string out;
  bool resume = false;
  bool json = false;
  int64_t threads = 0;  ///< of --threads; 0: not given
};

/// "attention = "full" (the run has "fibottention")"
std::string differences(const Recipe& asked, const Recipe& stored) {
  std::string text;
  for (const std::string& key : differing_keys(asked, stored)) {
    const Option& option = find_option(key);
    text += fmt::format("{}{} = {} (the run has {})", text.empty() ? "" : ", ", key, to_toml(option.get(asked)),
                        to_toml(option.get(stored)));
  }
  return text;
}

/// A resumed run has its own recipe; what is asked for must agree where it decides the result.
Recipe resumed_recipe(const TrainArguments& a, const RunFiles& files) {
  const Recipe stored = files.recipe();
  const Recipe asked = recipe_of(a.recipe, stored);
  const std::string different = differences(asked, stored);
  if (!different.empty()) throw std::invalid_argument("cannot resume '" + a.out + "' with " + different);
  return asked;
}

int64_t threads_of(const TrainArguments& a, const Recipe& recipe, const Launch& launch) {
  if (a.threads > 0) return a.threads;
  if (recipe.threads > 0) return recipe.threads;
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return std::max<int64_t>(1, cores / launch.local_world);
}

void use_threads(int64_t threads) {
  omp_set_num_threads(static_cast<int>(threads));
  at::set_num_threads(static_cast<int>(threads));
}

/// The first process alone sees the directory; the others get the recipe from it.
class Session {
 public:
  Session(const TrainArguments& arguments, const Launch& launch) : arguments_(arguments), group_(launch) {
    if (group_.is_first()) open_directory(launch);
    Recipe shared;
    read_toml(shared, broadcast_text(group_, write_toml(recipe_)), "the recipe of process 0");
    recipe_ = shared;
    share_ = {group_.rank(), group_.world(), launch.local_world};
    use_threads(recipe_.threads);
  }

  /// The exit code.
  int run(bool quiet) {
    TrainObserver observer(quiet || !group_.is_first());
    Trainer trainer(prepare(recipe_, share_), group_, directory_ ? &*directory_ : nullptr, observer);
    if (directory_) write_file_atomically(directory_->files().config(), write_toml(recipe_));
    if (resumes()) trainer.resume();
    const StopSignals signals;
    if (trainer.run() == Trainer::Outcome::finished) return 0;
    if (group_.is_first())
      fmt::print(stderr, "stopped after step {} of {}, saved; continue with: fib train --out {} --resume\n",
                 trainer.progress().step, trainer.total_steps(), arguments_.out);
    return 128 + std::max(1, StopSignals::received());
  }

  bool is_first() const { return group_.is_first(); }
  const RunFiles& files() const { return directory_->files(); }

 private:
  void open_directory(const Launch& launch) {
    directory_.emplace(arguments_.out);
    const bool holds_run = directory_->holds_run();
    if (holds_run && !arguments_.resume)
      throw std::invalid_argument("'" + arguments_.out +
                                  "' already holds a run: add --resume to continue it, or choose another --out");
    if (!holds_run && arguments_.resume) throw std::runtime_error("'" + arguments_.out + "' holds no run to resume");
    recipe_ = holds_run ? resumed_recipe(arguments_, directory_->files()) : recipe_of(arguments_.recipe, {});
    recipe_.threads = threads_of(arguments_, recipe_, launch);
  }

  /// A run that was killed before its first checkpoint begins again. All processes must agree.
  bool resumes() {
    const bool has_state = directory_ && std::filesystem::exists(directory_->files().state());
    return broadcast_text(group_, has_state && arguments_.resume ? "yes" : "no") == "yes";
  }

  const TrainArguments& arguments_;
  ProcessGroup group_;
  std::optional<RunDirectory> directory_;
  Recipe recipe_;
  Share share_;
};

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
  Session session(a, Launch::from_environment());
  const int code = session.run(quiet);
  if (code != 0) throw Exit{code};
  if (session.is_first()) tell(a, session.files(), quiet);
}

}  // namespace

void add_train(CLI::App& command, const Globals& globals) {
  const auto a = std::make_shared<TrainArguments>();
  command.add_option("--out", a->out, "directory of the run")->required()->type_name("DIR");
  command.add_flag("--resume", a->resume, "continue the run in --out where its last checkpoint is");
  command.add_flag("--json", a->json, "the summary for machines");
  add_recipe_options(command, a->recipe);
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
