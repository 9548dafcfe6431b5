// SPDX-License-Identifier: Apache-2.0
#include "training/torch/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/atomic_file.h"
#include "training/recipe/options.h"
#include "training/torch/rendezvous.h"

namespace fib::training {
namespace {

/// "attention = "full" (the run has "fibottention")"
std::string differences(const Recipe& asked, const Recipe& stored, const char* whose = "the run") {
  std::string text;
  for (const std::string& key : differing_keys(asked, stored)) {
    const Option& option = find_option(key);
    text += fmt::format("{}{} = {} ({} has {})", text.empty() ? "" : ", ", key, to_toml(option.get(asked)), whose,
                        to_toml(option.get(stored)));
  }
  return text;
}

/// A resumed run has its own recipe; what is asked for must agree where it decides the result.
Recipe resumed_recipe(const SessionOptions& options, const RunFiles& files) {
  const Recipe stored = files.recipe();
  const Recipe asked = settled(options.asked(stored), options.tasks);
  const std::string different = differences(asked, stored);
  if (!different.empty())
    throw std::invalid_argument(fmt::format("cannot resume '{}' with {}", options.out.string(), different));
  return asked;
}

int64_t threads_of(const SessionOptions& options, const Recipe& recipe, const Launch& launch) {
  if (options.threads > 0) return options.threads;
  if (recipe.run.threads > 0) return recipe.run.threads;
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return std::max<int64_t>(1, cores / launch.local_world);
}

}  // namespace

Session::Session(const SessionOptions& options, const Launch& launch, const WaitOptions& wait)
    : group_(launch, wait),
      cancel_(wait.cancel),
      tasks_(options.tasks),
      resume_(options.resume),
      rank_{group_.rank(), group_.world(), launch.local_world} {
  if (group_.is_first()) open_directory(options, launch);
  Recipe shared;
  read_toml(shared, broadcast_text(group_, write_toml(recipe_)), "the recipe of process 0");
  recipe_ = shared;
  require_same(options);
  finished_ = agreed(directory_ && std::filesystem::exists(options.out / options.result));
}

/// Each says what is wrong with itself, and the others who it is: gradients of different models would add up to none.
void Session::require_same(const SessionOptions& options) {
  const std::string first_build = broadcast_text(group_, options.build);
  std::string wrong;
  if (options.build != first_build)
    wrong = fmt::format("it is {}, and process 0 is {}", options.build, first_build);
  else if (!group_.is_first())
    wrong = differences(settled(options.asked(options.resume ? recipe_ : options.base), tasks_), recipe_, "process 0");
  const at::Tensor marks = at::zeros({rank_.world}, at::kLong);
  if (!wrong.empty()) marks[rank_.rank] = 1;
  group_.sum(marks);
  std::vector<int> others;
  for (int rank = 0; rank < rank_.world; ++rank)
    if (marks[rank].item<int64_t>() != 0) others.push_back(rank);
  if (!wrong.empty())
    throw std::invalid_argument(fmt::format("process {} cannot take part in this run: {}", rank_.rank, wrong));
  if (!others.empty())
    throw std::invalid_argument(
        fmt::format("{} cannot take part in this run: another build, or asked for another recipe", ranks_text(others)));
}

/// What the first process says, in all of them.
bool Session::agreed(bool first_says) { return broadcast_text(group_, first_says ? "yes" : "no") == "yes"; }

void Session::open_directory(const SessionOptions& options, const Launch& launch) {
  directory_.emplace(options.out);
  const bool holds_run = directory_->holds_run();
  if (holds_run && !options.resume)
    throw std::invalid_argument(fmt::format(
        "'{}' already holds a run: add --resume to continue it, or choose another --out", options.out.string()));
  if (!holds_run && options.resume)
    throw std::runtime_error(fmt::format("'{}' holds no run to resume", options.out.string()));
  recipe_ = holds_run ? resumed_recipe(options, directory_->files()) : settled(options.asked(options.base), tasks_);
  recipe_.run.threads = threads_of(options, recipe_, launch);
}

/// A run that was killed before its first checkpoint begins again; weights without a state are of a later time.
bool Session::resumes() {
  bool from_state = false;
  if (directory_ && resume_) {
    const RunFiles& files = directory_->files();
    from_state = std::filesystem::exists(files.state());
    if (!from_state && std::filesystem::exists(files.model()))
      throw std::runtime_error(fmt::format(
          "cannot resume '{}': its state.pt is missing, and without it the run would begin again over its weights",
          files.root.string()));
  }
  return agreed(from_state);
}

void Session::prepare(Observer& observer) {
  const bool resumed = resumes();
  trainer_.emplace(training::prepare(recipe_, rank_, tasks_), group_, directory_ ? &*directory_ : nullptr, observer,
                   cancel_);
  if (directory_) write_file_atomically(directory_->files().config(), write_toml(recipe_));
  if (resumed) trainer_->resume();
}

}  // namespace fib::training
