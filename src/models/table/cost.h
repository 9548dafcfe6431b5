// SPDX-License-Identifier: Apache-2.0
// What a model costs for one picture, counted from its dimensions alone.
#pragma once

#include "attention/catalogue/cost.h"
#include "models/table/table.h"

namespace fib::models {

/// Multiply-accumulates of one picture by part; the attention parts as the paper counts them (attention::Cost).
struct Cost {
  double patch_embed = 0;
  double qkv = 0;
  double scores = 0;
  double values = 0;
  double projection = 0;
  double mlp = 0;
  double head = 0;
  double pruning_ratio = 0;  ///< of the patch tokens' pairs, mean over the layers
  int64_t tokens = 0;        ///< class tokens included
  int64_t parameters = 0;

  double total() const { return patch_embed + qkv + scores + values + projection + mlp + head; }
};

Cost cost(const Dimensions& dims);

}  // namespace fib::models
