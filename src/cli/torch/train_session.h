// SPDX-License-Identifier: Apache-2.0
// A run of fib train or fib prune: its directory, its recipe, its processes.
#pragma once

#include <optional>

#include "cli/train_options.h"
#include "training/torch/trainer.h"

namespace fib::cli {

/// The first process alone sees the directory; the others get the recipe from it.
class TrainSession {
 public:
  /// Throws std::invalid_argument where directory and options do not go together.
  TrainSession(const TrainArguments& arguments, const training::Launch& launch);

  /// The exit code: 0 once the run is finished.
  int run(bool quiet);

  bool is_first() const { return group_.is_first(); }
  const training::RunFiles& files() const { return directory_->files(); }
  const training::Recipe& recipe() const { return recipe_; }
  /// Of the run, which must have been called.
  training::Trainer& trainer() { return *trainer_; }

 private:
  void open_directory(const training::Launch& launch);
  bool resumes();

  const TrainArguments& arguments_;
  training::ProcessGroup group_;
  std::optional<training::RunDirectory> directory_;
  training::Recipe recipe_;
  training::Share share_;
  std::optional<training::Trainer> trainer_;
};

}  // namespace fib::cli
