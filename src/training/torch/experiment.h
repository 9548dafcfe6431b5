// SPDX-License-Identifier: Apache-2.0
// What a recipe asks for, made: the model with its first weights, and the three sets of data.
#pragma once

#include <memory>

#include "data/loader.h"
#include "models/torch/model.h"
#include "training/recipe/recipe.h"
#include "training/torch/companion.h"

namespace fib::training {

/// Which of several processes asks.
struct Share {
  int rank = 0;
  int world = 1;
  int local_world = 1;
};

struct Experiment {
  Recipe recipe;
  models::ModelPtr model = nullptr;
  std::shared_ptr<Companion> companion = nullptr;  ///< null where nothing accompanies the steps
  std::unique_ptr<Loader> train = nullptr;
  std::unique_ptr<Loader> validation = nullptr;  ///< null where nothing is held out
  std::unique_ptr<Loader> test = nullptr;
};

/// Throws std::invalid_argument or std::runtime_error with one line for what does not fit or cannot be found.
Experiment prepare(const Recipe& recipe, const Share& share = {});

/// Batches of a whole dataset in its order, as evaluation sees them.
std::unique_ptr<Loader> evaluation_loader(const DatasetPtr& data, const Recipe& recipe, int64_t input_size,
                                          const Share& share = {});

}  // namespace fib::training
