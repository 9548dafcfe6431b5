// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/attention_maps.h"

#include <stdexcept>

#include "analysis/torch/over_images.h"
#include "analysis/torch/rollout.h"

namespace fib::analysis {

AttentionMaps attention_maps(models::Model& model, const at::Tensor& image, int64_t patch) {
  require_attention_maps(model);
  const int64_t N = model.dimensions().grid().tokens(), cls = model.attentions().front()->geometry().cls;
  if (patch < 0 || patch >= N)
    throw std::invalid_argument("patch " + std::to_string(patch) + ": accepted is 0 to " + std::to_string(N - 1));
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> layers, from_cls, from_patch;
  for (int64_t l = 0; l < static_cast<int64_t>(model.attentions().size()); ++l) {
    layers.push_back(model.inspect(image, l).probabilities);           // [1,H,T,T]
    const at::Tensor to_patches = layers.back()[0].narrow(2, cls, N);  // [H,T,N]
    from_cls.push_back(to_patches.select(1, 0));
    from_patch.push_back(to_patches.select(1, cls + patch));
  }
  return {at::stack(from_cls), at::stack(from_patch), rollout(layers)[0][0].narrow(0, cls, N)};
}

}  // namespace fib::analysis
