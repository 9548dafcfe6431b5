// SPDX-License-Identifier: Apache-2.0
// A run from its directory to its end: whether it begins or resumes, with which recipe, in which processes.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "training/torch/trainer.h"

namespace fib::training {

struct SessionOptions {
  std::filesystem::path out;
  bool resume = false;
  int64_t threads = 0;  ///< of each process; 0: the recipe's, or the cores divided among the processes of this machine
  Recipe base = {};     ///< what a new run begins with; what it leaves open is decided by its task
  std::string result = "summary.json";                  ///< the file whose being there says that the run is finished
  std::string build = "";                               ///< version and commit, which all processes must share
  std::vector<TaskRow> tasks = classification_tasks();  ///< that a recipe can name
  /// What is asked for on top of a recipe: of `base`, or of the run that is resumed.
  std::function<Recipe(const Recipe&)> asked = [](const Recipe& recipe) { return recipe; };
};

/// The first process alone sees the directory; the others get the recipe from it, and must have been asked for the
/// same.
class Session {
 public:
  /// Waits for the other processes. Throws std::invalid_argument where directory and options do not go together, and in
  /// every process where one is of another build or was asked for another recipe.
  Session(const SessionOptions& options, const Launch& launch, const WaitOptions& wait);

  /// Makes model and data, and reads the checkpoint of a run that is resumed.
  void prepare(Observer& observer);
  /// To the end, or until it is cancelled.
  Trainer::Outcome run() { return trainer_->run(); }

  /// There was nothing left to do, and nothing was changed.
  bool is_finished() const { return finished_; }
  bool is_first() const { return group_.is_first(); }
  const RunFiles& files() const { return directory_->files(); }
  /// With the number of threads that each process shall use.
  const Recipe& recipe() const { return recipe_; }
  /// Once it is prepared.
  Trainer& trainer() { return *trainer_; }

 private:
  void open_directory(const SessionOptions& options, const Launch& launch);
  bool agreed(bool first_says);
  void require_same(const SessionOptions& options);
  bool resumes();

  ProcessGroup group_;
  CancelToken cancel_;
  std::vector<TaskRow> tasks_;
  std::optional<RunDirectory> directory_;
  Recipe recipe_;
  bool resume_;
  bool finished_ = false;
  RankInfo rank_;
  std::optional<Trainer> trainer_;
};

}  // namespace fib::training
