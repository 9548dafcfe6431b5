// SPDX-License-Identifier: Apache-2.0
#include "training/torch/loss.h"

namespace fib::training {

at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& targets) {
  return -(targets * at::log_softmax(logits, 1)).sum() / static_cast<double>(logits.size(0));
}

}  // namespace fib::training
