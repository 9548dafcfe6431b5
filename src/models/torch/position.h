// SPDX-License-Identifier: Apache-2.0
// Learned position embeddings on another grid of patches.
#pragma once

#include <torch/torch.h>

#include "attention/geometry.h"

namespace fib::models {

/// [1, cls + N, D] from one grid to another: bicubic over the patches, as timm does it; class tokens are kept.
at::Tensor resize_positions(const at::Tensor& positions, int64_t cls, const attention::Grid& from,
                            const attention::Grid& to);

/// The grid of a stored [1, cls + N, D]: `wanted` if it has as many tokens, else square. Throws std::invalid_argument
/// where N is no square.
attention::Grid stored_grid(const at::Tensor& positions, int64_t cls, const attention::Grid& wanted);

}  // namespace fib::models
