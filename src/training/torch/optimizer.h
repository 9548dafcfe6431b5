// SPDX-License-Identifier: Apache-2.0
// AdamW, gradient clipping and the average of the weights as passes over flat memory. Results do not depend on the
// number of threads: sums are formed in pieces of fixed size, the rest is elementwise.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "training/torch/groups.h"

namespace fib::training {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double clip = 0;  ///< largest L2 norm of the whole gradient; 0: no limit
  double ema = 0;   ///< decay of the average; 0: none is kept
  bool ema_warmup = true;
};

/// After n steps, counted from 1: at most (1 + n) / (10 + n), so that a short run's average forgets where it began.
double ema_decay(const AdamOptions& options, int64_t step);

/// In double precision.
double l2_norm(const at::Tensor& values);

class AdamW {
 public:
  AdamW(FlatParameters& parameters, std::vector<Group> groups, const AdamOptions& options);

  /// The gradient's norm after `scale`, before clipping. Where it is not finite nothing was changed.
  double step(double lr, double scale = 1);

  int64_t steps() const { return steps_; }
  bool averages() const { return options_.ema > 0; }

  /// What a checkpoint holds.
  struct State {
    int64_t steps = 0;
    at::Tensor mean, square;  ///< of gradients
    at::Tensor average;       ///< of values, undefined where none is kept
  };
  State state() const { return {steps_, mean_, square_, average_}; }
  /// Copies; throws std::invalid_argument where lengths differ.
  void restore(const State& state);

  at::Tensor& average() { return average_; }

 private:
  void update(const Group& group, double lr, double gradient_scale);
  void update_average();

  FlatParameters& parameters_;
  std::vector<Group> groups_;
  AdamOptions options_;
  int64_t steps_ = 0;
  at::Tensor mean_, square_, average_;
};

}  // namespace fib::training
