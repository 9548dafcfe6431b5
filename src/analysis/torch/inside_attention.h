// SPDX-License-Identifier: Apache-2.0
// The attention that patches of an object pay to each other (§ Validation of Inductive Bias). The paper names neither
// layer nor treatment of heads; here it is one layer, and both treatments are reported.
#pragma once

#include <torch/torch.h>

namespace fib::analysis {

struct MeanAndVariance {
  double mean = 0;
  double variance = 0;  ///< of the population
};

struct InsideAttention {
  MeanAndVariance averaged;  ///< over pairs of patches, of the heads' mean
  MeanAndVariance each;      ///< over pairs of patches and heads
};

/// Of one image: weights [H,T,T] whose first `cls` tokens are class tokens, `inside` booleans [T − cls] with the
/// patches of the object. Pairs that a mechanism excludes count as 0. Throws std::invalid_argument for shapes that
/// disagree and for an object without a patch.
InsideAttention inside_attention(const at::Tensor& weights, const at::Tensor& inside, int64_t cls);

}  // namespace fib::analysis
