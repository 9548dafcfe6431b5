// SPDX-License-Identifier: Apache-2.0
// A model that runs in `fib bench model`, with all that a pass needs.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "bench/torch/model_bench.h"
#include "training/torch/classification.h"
#include "training/torch/training_step.h"

namespace fib::bench {

class ModelContestant {
 public:
  /// Makes the model and runs it once, and notes how far memory grew meanwhile. Throws std::runtime_error when what it
  /// computes is not finite.
  ModelContestant(const models::Dimensions& dims, ModelPass pass, int64_t batch, const std::string& precision = "f32");

  /// Forward, or the trainer's own step with the default recipe: the loss, backward, clipping, AdamW, averages.
  void run();
  /// Of training steps.
  StepProfile profile();
  std::optional<double> peak_memory_mb() const { return peak_memory_mb_; }

  /// What it will need, roughly, and from above.
  static int64_t bytes(const models::Dimensions& dims, ModelPass pass, int64_t batch);

 private:
  at::Tensor forward_once();
  at::Tensor training_step();

  ModelPass pass_;
  models::ModelPtr model_;
  training::TaskBatch batch_;
  at::Tensor last_;
  training::ProcessGroup alone_;
  std::unique_ptr<training::ClassificationTask> task_;
  std::unique_ptr<training::TrainingStep> step_;  ///< null where only forward runs
  int64_t steps_ = 0;
  std::optional<double> peak_memory_mb_;
};

}  // namespace fib::bench
