// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/train_session.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <thread>

#include "base/atomic_file.h"
#include "cli/stop_signals.h"
#include "cli/torch/train_observer.h"
#include "training/recipe/toml.h"

namespace fib::cli {

using namespace training;

namespace {

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

}  // namespace

TrainSession::TrainSession(const TrainArguments& arguments, const Launch& launch)
    : arguments_(arguments), group_(launch) {
  if (group_.is_first()) open_directory(launch);
  Recipe shared;
  read_toml(shared, broadcast_text(group_, write_toml(recipe_)), "the recipe of process 0");
  recipe_ = shared;
  share_ = {group_.rank(), group_.world(), launch.local_world};
  use_threads(recipe_.threads);
}

int TrainSession::run(bool quiet) {
  TrainObserver observer(quiet || !group_.is_first());
  trainer_.emplace(prepare(recipe_, share_), group_, directory_ ? &*directory_ : nullptr, observer);
  if (directory_) write_file_atomically(directory_->files().config(), write_toml(recipe_));
  if (resumes()) trainer_->resume();
  const StopSignals signals;
  if (trainer_->run() == Trainer::Outcome::finished) return 0;
  if (group_.is_first())
    fmt::print(stderr, "stopped after step {} of {}, saved; continue with: fib {} --out {} --resume\n",
               trainer_->progress().step, trainer_->total_steps(), arguments_.command, arguments_.out);
  return 128 + std::max(1, StopSignals::received());
}

void TrainSession::open_directory(const Launch& launch) {
  directory_.emplace(arguments_.out);
  const bool holds_run = directory_->holds_run();
  if (holds_run && !arguments_.resume)
    throw std::invalid_argument("'" + arguments_.out +
                                "' already holds a run: add --resume to continue it, or choose another --out");
  if (!holds_run && arguments_.resume) throw std::runtime_error("'" + arguments_.out + "' holds no run to resume");
  recipe_ = holds_run ? resumed_recipe(arguments_, directory_->files()) : recipe_of(arguments_.recipe, arguments_.base);
  recipe_.threads = threads_of(arguments_, recipe_, launch);
}

/// A run that was killed before its first checkpoint begins again. All processes must agree.
bool TrainSession::resumes() {
  const bool has_state = directory_ && std::filesystem::exists(directory_->files().state());
  return broadcast_text(group_, has_state && arguments_.resume ? "yes" : "no") == "yes";
}

}  // namespace fib::cli
