// SPDX-License-Identifier: Apache-2.0
// Where a model looks in one image: from its class token and from a chosen patch, per layer and head, and through all
// layers (rollout).
#pragma once

#include <vector>

#include "models/torch/model.h"

namespace fib::analysis {

/// Attention rollout (Abnar and Zuidema): where the tokens of the last layer come from, through all layers and the
/// residual connections around them. Attention weights of all layers from the first to the last, each [B,H,T,T], to
/// [B,T,T]; rows sum to 1 where the weights' do. Each layer is the mean of its heads, half of it, and half of the
/// identity for the residual connection. Throws std::invalid_argument for no layer and for weights below 0: a linformer
/// mixes keys with either sign.
at::Tensor rollout(const std::vector<at::Tensor>& layers);

/// L layers, H heads, N patches in reading order, of a clip those of one frame after the other; weights of the class
/// token itself are left out.
struct AttentionMaps {
  at::Tensor from_cls;    ///< [L,H,N]
  at::Tensor from_patch;  ///< [L,H,N]
  at::Tensor rollout;     ///< [N], from the class token
};

/// Layers that look at places, by number; those of attention over time are not among them.
std::vector<int64_t> layers_with_maps(const models::Model& model);

/// `image` is [1,C,h,w], or a clip [1,C,T,h,w], of which attention within frames is shown with all of them at once and
/// attention over all frames from the patch of the middle one. `patch` counts in reading order. Throws
/// std::invalid_argument for a patch that is not there and for a mechanism that has no weight per pair.
AttentionMaps attention_maps(models::Model& model, const at::Tensor& image, int64_t patch);

}  // namespace fib::analysis
