// SPDX-License-Identifier: Apache-2.0
// A model that runs in `fib bench model`, with all that a pass needs.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "bench/torch/model_bench.h"
#include "models/torch/model.h"

namespace fib::bench {

class ModelContestant {
 public:
  /// Makes the model and runs it once, and notes how far memory grew meanwhile. Throws std::runtime_error when what it
  /// computes is not finite.
  ModelContestant(const models::Dimensions& dims, ModelPass pass, int64_t batch);

  /// Forward, or a step of training: forward, cross-entropy, backward, AdamW.
  void run();
  std::optional<double> peak_memory_mb() const { return peak_memory_mb_; }

  /// What it will need, roughly, and from above.
  static int64_t bytes(const models::Dimensions& dims, ModelPass pass, int64_t batch);

 private:
  at::Tensor forward_once();
  at::Tensor training_step();

  ModelPass pass_;
  models::ModelPtr model_;
  at::Tensor images_, labels_, last_;
  std::unique_ptr<torch::optim::AdamW> optimiser_;
  std::optional<double> peak_memory_mb_;
};

}  // namespace fib::bench
