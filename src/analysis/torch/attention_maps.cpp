// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/attention_maps.h"

#include <fmt/format.h>

#include <sstream>
#include <stdexcept>

#include "analysis/torch/over_images.h"

namespace fib::analysis {
namespace {

/// Weights [S,N] of S frames, or [1,N·T] of all at once, in the order of frames and then of places.
at::Tensor frame_by_frame(const at::Tensor& weights, const models::Dimensions& d) {
  if (d.options.attention_in != models::AttentionIn::joint) return weights.flatten();
  return weights.view({d.grid().tokens(), d.frames()}).t().flatten();
}

/// From one query to all patches, [H,N], of the weights [S,H,T,T] of a layer.
at::Tensor seen_from(int64_t query, const at::Tensor& weights, const models::Dimensions& d) {
  const at::Tensor to_patches = weights.select(2, query).narrow(2, 1, weights.size(3) - 1);  // [S,H,N]
  std::vector<at::Tensor> heads;
  for (int64_t h = 0; h < weights.size(1); ++h) heads.push_back(frame_by_frame(to_patches.select(1, h), d));
  return at::stack(heads);
}

int64_t query_of(int64_t patch, const models::Dimensions& d) {
  const bool joint = d.options.attention_in == models::AttentionIn::joint;
  return joint ? 1 + patch * d.frames() + d.frames() / 2 : 1 + patch;
}

void check_weights(const at::Tensor& weights) {
  if (weights.dim() != 4 || weights.size(2) != weights.size(3)) {
    std::ostringstream message;
    message << "rollout needs attention weights [B,H,T,T], got " << weights.sizes();
    throw std::invalid_argument(message.str());
  }
  if (weights.min().item<double>() < 0)
    throw std::invalid_argument("rollout needs attention weights that are shares; these have a negative one");
}

}  // namespace

at::Tensor rollout(const std::vector<at::Tensor>& layers) {
  if (layers.empty()) throw std::invalid_argument("rollout of no layer at all");
  at::Tensor result;
  for (const at::Tensor& weights : layers) {
    check_weights(weights);
    const at::Tensor identity = at::eye(weights.size(2), weights.options());
    const at::Tensor layer = 0.5 * weights.mean(1) + 0.5 * identity;  // [B,T,T]
    result = result.defined() ? at::matmul(layer, result) : layer;
  }
  return result;
}

std::vector<int64_t> layers_with_maps(const models::Model& model) {
  const auto mechanisms = model.attentions();
  std::vector<int64_t> layers;
  for (size_t l = 0; l < mechanisms.size(); ++l) {
    const bool over_time = model.dimensions().takes_clips() && mechanisms[l]->geometry().cls == 0;
    if (!over_time) layers.push_back(static_cast<int64_t>(l));
  }
  return layers;
}

AttentionMaps attention_maps(models::Model& model, const at::Tensor& image, int64_t patch) {
  require_attention_maps(model);
  const models::Dimensions& d = model.dimensions();
  const int64_t N = d.grid().tokens();
  if (patch < 0 || patch >= N) throw std::invalid_argument(fmt::format("patch {}: accepted is 0 to {}", patch, N - 1));
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> layers, from_cls, from_patch;
  for (int64_t l : layers_with_maps(model)) {
    layers.push_back(model.inspect(image, l).probabilities);  // [S,H,T,T]
    from_cls.push_back(seen_from(0, layers.back(), d));
    from_patch.push_back(seen_from(query_of(patch, d), layers.back(), d));
  }
  const at::Tensor through_all = rollout(layers).select(1, 0);  // [S,T]
  return {at::stack(from_cls), at::stack(from_patch),
          frame_by_frame(through_all.narrow(1, 1, through_all.size(1) - 1), d)};
}

}  // namespace fib::analysis
