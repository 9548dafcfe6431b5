// SPDX-License-Identifier: Apache-2.0
// UPop's search: masks on channels that shrink while a ViT is trained, until the share asked for is zero.
#pragma once

#include <vector>

#include "models/torch/vit.h"
#include "training/recipe/recipe.h"
#include "training/torch/companion.h"
#include "training/torch/prune/upop.h"

namespace fib::training {

class PruningSearch final : public Companion {
 public:
  /// Masks the model's channels from now on. Throws std::invalid_argument for a backbone or a mechanism whose channels
  /// cannot be pruned.
  PruningSearch(models::Model& model, const Recipe& recipe);

  at::Tensor penalty() override;
  void collect(ProcessGroup& group) override;
  void stepped(int64_t step, int64_t steps) override;
  at::Tensor state() override { return state_; }

  const std::vector<models::ChannelMasks>& masks() const { return masks_; }

 private:
  /// Masks, or saliency: [L,d] and [L,m] views of the state.
  ChannelValues values(bool saliency) const;

  Recipe recipe_;
  int64_t blocks_, head_dim_, hidden_, weight_;
  at::Tensor state_;  // masks of all blocks, attention then MLPs, and the sums of their gradients in the same order
  std::vector<models::ChannelMasks> masks_;  // rows of the state, with gradients of a step
};

}  // namespace fib::training
