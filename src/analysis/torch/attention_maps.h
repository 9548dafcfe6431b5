// SPDX-License-Identifier: Apache-2.0
// Where a model looks in one picture: from its class token and from a chosen patch, per layer and head, and through all
// layers (rollout).
#pragma once

#include "models/torch/model.h"

namespace fib::analysis {

/// L layers, H heads, N patches in reading order; weights of the class token itself are left out.
struct AttentionMaps {
  at::Tensor from_cls;    ///< [L,H,N]
  at::Tensor from_patch;  ///< [L,H,N]
  at::Tensor rollout;     ///< [N], from the class token
};

/// `image` is [1,C,h,w], `patch` counts in reading order. Throws std::invalid_argument for a patch that is not there
/// and for a mechanism that has no weight per pair.
AttentionMaps attention_maps(models::Model& model, const at::Tensor& image, int64_t patch);

}  // namespace fib::analysis
