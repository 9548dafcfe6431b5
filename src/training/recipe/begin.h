// SPDX-License-Identifier: Apache-2.0
// What a new run takes from the weights it begins with, where its recipe leaves it open.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "training/recipe/recipe.h"

namespace fib::training {

/// The recipe with its model, attention, pooling and evaluation crop left open: empty, or zero.
Recipe open_recipe(Recipe recipe);

/// What is open gets its default.
Recipe closed_recipe(Recipe recipe);

/// What is open follows the weights: their model, attention, size of image and crop; weights that do not say their
/// attention are dense. The division of the data is written out. Throws std::invalid_argument where weights do not say
/// which model they are of, std::runtime_error where they cannot be read.
Recipe settled_recipe(Recipe recipe);

/// Of the option freeze: how many blocks, from the first, do not learn; none where it is empty. Throws
/// std::invalid_argument for another text.
inline constexpr int64_t kAllFrozen = std::numeric_limits<int64_t>::max();  ///< all but the classifier
std::optional<int64_t> frozen_blocks(const std::string& freeze);

}  // namespace fib::training
