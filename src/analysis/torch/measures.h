// SPDX-License-Identifier: Apache-2.0
// The paper's measures of one layer: the diversity of its heads, and the attention that patches of an object pay to
// each other.
#pragma once

#include <torch/torch.h>

namespace fib::analysis {

/// The head diversity of the paper (§ Validation of Head Diversity), in percent as its table prints it. Of one layer's
/// outputs Y [B,H,T,e], per sample, double [B]: the mean over pairs of heads i < j of
/// 100 ‖Y_i − Y_j‖ / (‖Y_i‖ + ‖Y_j‖). Equal heads give 0 (two that are zero, too), opposite ones 100.
/// Throws std::invalid_argument for another shape and for a single head, which has no pair.
at::Tensor head_diversity(const at::Tensor& head_outputs);

// ---- Inductive bias (§ Validation of Inductive Bias): the paper names neither layer nor treatment of heads; here it
// is one layer, and both treatments are reported

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
