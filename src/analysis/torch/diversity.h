// SPDX-License-Identifier: Apache-2.0
// The head diversity of the paper (§ Validation of Head Diversity), in percent as its table prints it.
#pragma once

#include <torch/torch.h>

namespace fib::analysis {

/// Of one layer's outputs Y [B,H,T,e], per sample, double [B]: the mean over pairs of heads i < j of
/// 100 ‖Y_i − Y_j‖ / (‖Y_i‖ + ‖Y_j‖). Equal heads give 0 (two that are zero, too), opposite ones 100.
/// Throws std::invalid_argument for another shape and for a single head, which has no pair.
at::Tensor head_diversity(const at::Tensor& head_outputs);

}  // namespace fib::analysis
