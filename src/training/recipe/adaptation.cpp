// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/adaptation.h"

#include "training/recipe/recipe.h"

namespace fib::training {

OptionRows<AdaptationSettings> AdaptationSettings::rows() {
  using A = AdaptationSettings;
  return {
      {"adapt_ridge", &A::ridge_images,
       "number of images from which the output projection of each sparse attention is first fitted in closed form; 0 "
       "leaves "
       "it as it was",
       kCountOrNone},
      {"adapt_branch_epochs", &A::branch_epochs,
       "number of first epochs in which each sparse attention follows the dense one on the dense model's own tokens",
       kCountOrNone},
      {"adapt_fade_fraction", &A::fade_fraction,
       "share of the steps over which the pairs outside the sparse attention fade; afterwards they are gone", kShare},
      {"adapt_temperature", &A::temperature, "divides the logits of teacher and student before they are compared",
       kPositive},
      {"adapt_features", &A::features, "weight in the loss of the difference between the blocks' outputs",
       kNotNegative},
  };
}

Recipe adaptation_recipe() {
  Recipe recipe;
  recipe.run.task = "adaptation";
  recipe.augment.crop = "resized";
  recipe.augment.crop_scale = {0.35, 1};
  recipe.augment.crop_ratio = {0.75, 1.33};
  recipe.optimizer.batch = 32;
  recipe.optimizer.lr = 3e-4;
  recipe.schedule.warmup_epochs = 0.2;
  recipe.optimizer.weight_decay = 0.01;
  recipe.ema.decay = 0;
  return recipe;
}

}  // namespace fib::training
