// SPDX-License-Identifier: Apache-2.0
// From a recipe to the choices of its model, without torch: what is planned, trained and tested is the same model.
#pragma once

#include "models/card.h"
#include "training/recipe/recipe.h"

namespace fib::training {

/// What the data decides of a model.
struct DataShape {
  int64_t classes = 0;  ///< 0: as many as the model's row says
  int64_t channels = 3;
};

/// Throws std::invalid_argument where the recipe's attention cannot be read.
models::Options model_options(const Recipe& recipe, const DataShape& data);

/// What weights trained by the recipe are of, and how they see images. Where the dataset's images have classes and
/// channels of their own (a folder), those are set by the caller that opens it.
models::ModelCard recipe_card(const Recipe& recipe);

}  // namespace fib::training
