// SPDX-License-Identifier: Apache-2.0
// The loss of soft targets, which smoothing and mixing of labels give.
#pragma once

#include <torch/torch.h>

namespace fib::training {

/// The mean over the batch of -Σ target · log softmax(logits), both [B,classes].
at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& targets);

}  // namespace fib::training
