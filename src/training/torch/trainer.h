// SPDX-License-Identifier: Apache-2.0
// The loop: steps, evaluations and checkpoints of one run, from its first step or from where it was left.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>

#include "base/safetensors.h"
#include "training/recipe/schedule.h"
#include "training/run/directory.h"
#include "training/torch/checkpoint.h"
#include "training/torch/experiment.h"
#include "training/torch/observer.h"
#include "training/torch/optimizer.h"
#include "training/torch/process_group.h"
#include "training/torch/reducer.h"

namespace fib::training {

/// The loss or the gradient is no longer a finite number. The last checkpoint is untouched.
struct Diverged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Trainer {
 public:
  /// `directory` is null in all processes but the first, which alone writes.
  Trainer(Experiment experiment, ProcessGroup& group, const RunDirectory* directory, Observer& observer);

  /// Continues from state.pt. Throws where it was written with a recipe that differs in what decides the result.
  void resume();

  enum class Outcome { finished, stopped };
  /// To the last step, or until the observer wants to stop. All files are as of then.
  /// Throws LostRank with what can be resumed when another process is gone.
  Outcome run();

  const Progress& progress() const { return progress_; }
  models::Model& model() { return *experiment_.model; }
  const std::shared_ptr<Companion>& companion() const { return experiment_.companion; }
  int64_t total_steps() const { return steps_per_epoch_ * recipe().epochs; }

 private:
  const Recipe& recipe() const { return experiment_.recipe; }
  RunFacts facts() const;
  Outcome run_epochs();

  // trainer_step.cpp
  void train_until_epoch_ends_or_stop();
  void train_step(Batch& batch);
  double backward(Batch& batch);
  double loss_or_save(Batch& batch);
  double mean_over_processes(double loss);
  void account(double loss, double lr, double norm);
  void log_window(double lr, double norm);
  [[noreturn]] void diverge(double loss, double lr) const;

  // trainer_epoch.cpp
  void close_epoch();
  void evaluate_epoch(int64_t epoch);
  Evaluation evaluate_weights(const Loader& loader, const std::string& split, bool averaged);
  void report(const EvaluationFacts& facts);
  void choose(const EvaluationFacts& facts);
  void finish();
  EvaluationFacts test();

  // trainer_files.cpp
  void save();
  void export_weights();
  void export_best(const EvaluationFacts& facts);
  void write_summary(const EvaluationFacts& tested);
  nlohmann::ordered_json summary(const EvaluationFacts& tested);
  void add_speed(nlohmann::ordered_json& json);
  void restore(const Checkpoint& checkpoint);
  TensorMetadata metadata(const std::string& weights) const;

  Experiment experiment_;
  ProcessGroup& group_;
  const RunDirectory* directory_;
  Observer& observer_;
  FlatParameters parameters_;
  AdamW optimizer_;
  GradientReducer reducer_;
  Schedule schedule_;
  int64_t steps_per_epoch_;
  std::optional<RunLog> log_;
  Progress progress_;
  int64_t saved_step_ = -1;
  bool stopping_ = false;
  double data_seconds_ = 0;     ///< spent waiting for batches, in this process
  double session_seconds_ = 0;  ///< of training steps since this process began
  int64_t session_steps_ = 0;
};

}  // namespace fib::training
