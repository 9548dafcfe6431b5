// SPDX-License-Identifier: Apache-2.0
// Causal attention as a differentiable torch function.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "ops/support.h"
#include "sequences/causal.h"

namespace fib::sequences {

/// A causal layer at work on whole sequences. Its support is made where a length is first seen, and kept.
class CausalAttention {
 public:
  CausalAttention(CausalLayer layer, double scale) : layer_(std::move(layer)), scale_(scale) {}

  /// [B,T,3,H,d], float32 or float64 on the CPU, to [B,T,H·d].
  at::Tensor forward(const at::Tensor& qkv);
  const CausalLayer& layer() const { return layer_; }
  double scale() const { return scale_; }

 private:
  CausalLayer layer_;
  double scale_;
  ops::SupportPtr support_;
};

}  // namespace fib::sequences
