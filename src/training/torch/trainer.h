// SPDX-License-Identifier: Apache-2.0
// The loop: steps, evaluations and checkpoints of one run, from its first step or from where it was left.
#pragma once

#include <optional>
#include <stdexcept>

#include "base/safetensors.h"
#include "training/recipe/schedule.h"
#include "training/run/directory.h"
#include "training/run/summary.h"
#include "training/torch/checkpoint.h"
#include "training/torch/observer.h"
#include "training/torch/training_step.h"

namespace fib::training {

/// The loss or the gradient is no longer a finite number. The last checkpoint is untouched.
struct Diverged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Trainer {
 public:
  /// `directory` is null in all processes but the first, which alone writes.
  Trainer(Experiment experiment, ProcessGroup& group, const RunDirectory* directory, Observer& observer,
          CancelToken cancel = {});

  /// Continues from state.pt. Throws where it was written with a recipe that differs in what decides the result.
  void resume();

  enum class Outcome { finished, stopped };
  /// To the last step, or until it is cancelled. All files are as of then.
  /// Throws LostRank with what can be resumed when another process is gone.
  Outcome run();

  const RunState& state() const { return state_; }
  const Experiment& experiment() const { return experiment_; }
  int64_t total_steps() const { return steps_per_epoch_ * recipe().schedule.epochs; }

 private:
  const Recipe& recipe() const { return experiment_.recipe; }
  RunFacts facts();
  bool evaluation_due(int64_t epoch) const;
  bool no_longer_improves() const;
  int64_t evaluation_samples();
  void begin();
  Outcome run_epochs();

  // trainer.cpp
  void train_until_epoch_ends_or_stop();
  void train_step(const TaskBatch& batch);
  double loss_or_save(const TaskBatch& batch);
  void account(double loss, double lr, double norm);
  void log_window(double lr, double norm);
  [[noreturn]] void diverge(double loss, double lr) const;

  // trainer_evaluation.cpp
  void close_epoch();
  void evaluate_epoch(int64_t epoch);
  Evaluation evaluate_weights(Split split, bool averaged);
  void report(const EvaluationFacts& facts);
  void choose(const EvaluationFacts& facts);
  void finish();
  EvaluationFacts test();
  Summary summary(const EvaluationFacts& tested);
  void add_speed(Summary& summary);

  // trainer_files.cpp
  void save();
  void save(const RunState& state);
  void export_weights();
  void export_best(const EvaluationFacts& facts);
  void load_best();
  void restore(const Checkpoint& checkpoint);
  TensorMetadata metadata(const std::string& weights) const;

  Experiment experiment_;
  ProcessGroup& group_;
  const RunDirectory* directory_;
  Observer& observer_;
  CancelToken cancel_;
  TrainingStep step_;
  Schedule schedule_;
  int64_t steps_per_epoch_;
  std::optional<RunLog> log_;
  RunState state_;
  int64_t saved_step_ = -1;
  bool stopping_ = false;
  double data_seconds_ = 0;     ///< spent waiting for batches, in this process
  double session_seconds_ = 0;  ///< of training steps since this process began
  int64_t session_steps_ = 0;
};

}  // namespace fib::training
