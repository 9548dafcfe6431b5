// SPDX-License-Identifier: Apache-2.0
// What takes part in every step of a run beside the model and its optimizer.
#pragma once

#include <torch/torch.h>

#include "training/torch/process_group.h"

namespace fib::training {

class StepHook {
 public:
  virtual ~StepHook() = default;
  /// Added to the loss of a step.
  virtual at::Tensor penalty() = 0;
  /// Gradients of a step are there; parameters are still those they belong to.
  virtual void collect(ProcessGroup& group) = 0;
  /// Step `step`, counted from 0, of `steps` is done.
  virtual void stepped(int64_t step, int64_t steps) = 0;
  /// All that a resumed run needs, the same in every process: the tensor itself, which may be written to.
  virtual at::Tensor state() = 0;
};

}  // namespace fib::training
