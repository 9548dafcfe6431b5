// SPDX-License-Identifier: Apache-2.0
// An optimizer, gradient clipping and the average of the weights as passes over flat memory. Results do not depend on
// the number of threads: sums are formed in pieces of fixed size, the rest is elementwise.
#pragma once

#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

#include "training/optimizer_kernels.h"
#include "training/recipe/schedule.h"
#include "training/torch/parameter_groups.h"

namespace fib::training {

struct OptimizerOptions {
  std::string name = "adamw";  ///< of a row of optimizers()
  UpdateOptions update{};
  double grad_clip = 0;  ///< largest L2 norm of the whole gradient; 0: no limit
  AverageSchedule average{.most = 0};

  static OptimizerOptions of(const OptimizerSettings& settings, const AverageSettings& ema);
};

/// In double precision.
double l2_norm(const at::Tensor& values);

/// What a checkpoint holds of an optimizer.
struct OptimizerState {
  int64_t steps = 0;
  std::vector<std::pair<std::string, at::Tensor>> memory;  ///< by name, as the optimizer's row says
  at::Tensor average;                                      ///< of values, undefined where none is kept
};

class Optimizer {
 public:
  Optimizer(FlatParameters& parameters, std::vector<Group> groups, const OptimizerOptions& options);

  /// The gradient's norm after `scale`, before clipping. Where it is not finite nothing was changed.
  double step(double lr, double scale = 1);

  int64_t steps() const { return steps_; }
  bool averages() const { return options_.average.most > 0; }

  /// Its own tensors, not copies.
  OptimizerState state() const;
  /// Copies; throws std::invalid_argument where names or lengths differ.
  void restore(const OptimizerState& state);

  at::Tensor& average() { return average_; }

 private:
  void update(const Group& group, double lr, double gradient_scale);
  void update_average();

  FlatParameters& parameters_;
  std::vector<Group> groups_;
  OptimizerOptions options_;
  const OptimizerRow& row_;
  int64_t steps_ = 0;
  std::vector<at::Tensor> memory_;
  at::Tensor average_;
};

}  // namespace fib::training
