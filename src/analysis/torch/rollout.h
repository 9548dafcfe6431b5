// SPDX-License-Identifier: Apache-2.0
// Attention rollout (Abnar and Zuidema): where the tokens of the last layer come from, through all layers and the
// residual connections around them.
#pragma once

#include <torch/torch.h>

#include <vector>

namespace fib::analysis {

/// Attention weights of all layers from the first to the last, each [B,H,T,T], to [B,T,T]; rows sum to 1 where the
/// weights' do. Each layer is the mean of its heads, half of it, and half of the identity for the residual connection.
/// Throws std::invalid_argument for no layer and for weights below 0: a linformer mixes keys with either sign.
at::Tensor rollout(const std::vector<at::Tensor>& layers);

}  // namespace fib::analysis
