// SPDX-License-Identifier: Apache-2.0
// One step of training: gradients of a batch over all processes, then the optimizer. What benchmarks time is this too.
#pragma once

#include "training/torch/flat_parameters.h"
#include "training/torch/optimizer.h"
#include "training/torch/reducer.h"
#include "training/torch/task.h"

namespace fib::training {

class TrainingStep {
 public:
  /// `hook` may be null. From here on the network's tensors live in parameters().
  TrainingStep(Task& task, StepHook* hook, const Recipe& recipe, ProcessGroup& group);

  struct Loss {
    double mean = 0;    ///< over the whole batch
    bool stop = false;  ///< some process wants to stop; all hear it after the same step
  };
  /// Gradients of step `step`, counted from 0, of this process's part of the batch. Throws LostRank, and then
  /// parameters are as they were.
  Loss gradients(const TaskBatch& batch, int64_t step, bool stop = false);
  /// Changes the parameters; the norm of the gradient before clipping. Where it is not finite nothing was changed.
  double update(double lr) { return optimizer_.step(lr, 1.0 / group_.world()); }

  /// The network's values are what the run begins with, in all processes.
  void begin_from_here();

  FlatParameters& parameters() { return parameters_; }
  Optimizer& optimizer() { return optimizer_; }

 private:
  at::Tensor loss_of(const TaskBatch& part);
  double backward(const TaskBatch& batch);

  Task& task_;
  StepHook* hook_;
  uint64_t seed_;
  int64_t parts_;
  bool bfloat16_;
  ProcessGroup& group_;
  FlatParameters parameters_;
  Optimizer optimizer_;
  GradientReducer reducer_;
};

}  // namespace fib::training
