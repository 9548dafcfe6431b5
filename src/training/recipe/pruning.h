// SPDX-License-Identifier: Apache-2.0
// The settings of fib prune; torch/pruning.h searches and prunes.
#pragma once

#include "training/option_row.h"

namespace fib::training {

struct Recipe;

struct PruningSettings {
  double ratio = 0;
  int64_t interval = 100;
  double attention_penalty = 4.8e-3;
  double mlp_penalty = 2e-4;

  static OptionRows<PruningSettings> rows();
  friend bool operator==(const PruningSettings&, const PruningSettings&) = default;
};

/// The defaults of fib prune, those of UPop's authors: a constant learning rate, no averaged weights.
Recipe search_recipe();

}  // namespace fib::training
