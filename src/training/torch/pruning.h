// SPDX-License-Identifier: Apache-2.0
// UPop's search: masks on channels that shrink while a ViT is trained, until the share asked for is zero; and what
// becomes of the model then.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/torch/vit.h"
#include "training/recipe/recipe.h"
#include "training/run/directory.h"
#include "training/torch/classification.h"
#include "training/torch/task.h"
#include "training/torch/upop.h"

namespace fib::training {

class PruningSearch final : public StepHook {
 public:
  /// Masks the model's channels from now on. Throws std::invalid_argument for a backbone or a mechanism whose channels
  /// cannot be pruned.
  PruningSearch(models::ModelPtr model, const PruningSettings& settings);

  at::Tensor penalty() override;
  void collect(ProcessGroup& group) override;
  void stepped(int64_t step, int64_t steps) override;
  at::Tensor state() override { return state_; }

  const std::vector<models::ChannelMasks>& masks() const { return masks_; }
  /// The model as it is now without the channels whose masks are zero.
  models::ModelPtr pruned_model() const;

 private:
  /// Masks, or saliency: [L,d] and [L,m] views of the state.
  ChannelValues values(bool saliency) const;

  models::ModelPtr model_;
  PruningSettings settings_;
  int64_t blocks_, head_dim_, hidden_, weight_;
  at::Tensor state_;  // masks of all blocks, attention then MLPs, and the sums of their gradients in the same order
  std::vector<models::ChannelMasks> masks_;  // rows of the state, with gradients of a step
};

/// A ViT without the channels whose masks are zero: it computes what the masked model does, with fewer channels. Throws
/// std::invalid_argument where a block has none left.
models::ModelPtr compressed(const models::Vit& model, const std::vector<models::ChannelMasks>& masks);

/// What a search has come to, on the test set.
struct PruningResult {
  struct Stage {
    std::string name;  ///< "before", where the search began with given weights, and "pruned"
    int64_t parameters = 0;
    Accuracy accuracy{};
  };
  std::vector<Stage> stages;
  std::filesystem::path weights;  ///< the pruned model
};

/// Writes the smaller model and pruning.json into the run directory, and tests both models.
PruningResult finish_pruning(const PruningSearch& search, const Recipe& recipe, const RunFiles& files);
nlohmann::ordered_json to_json(const PruningResult& result, const Recipe& recipe);

}  // namespace fib::training
