// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/pruning.h"

#include "training/recipe/recipe.h"

namespace fib::training {

OptionRows<PruningSettings> PruningSettings::rows() {
  using P = PruningSettings;
  return {
      {"prune_ratio", &P::ratio, "share of the parameters in attention and MLPs that fib prune removes; 0 removes none",
       kRate},
      {"prune_interval", &P::interval, "steps between two updates of the masks", kCount},
      {"prune_attention_penalty", &P::attention_penalty, "weight in the loss of the penalty on the masks of attention",
       kNotNegative},
      {"prune_mlp_penalty", &P::mlp_penalty, "weight in the loss of the penalty on the masks of MLPs", kNotNegative},
  };
}

Recipe search_recipe() {
  Recipe recipe;
  recipe.optimizer.lr = recipe.schedule.min_lr = recipe.schedule.warmup_lr = 1e-4;
  recipe.schedule.warmup_epochs = 0;
  recipe.ema.decay = 0;
  recipe.optimizer.grad_clip = 0;
  return recipe;
}

}  // namespace fib::training
