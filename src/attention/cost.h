// SPDX-License-Identifier: Apache-2.0
// What a mechanism costs in one layer and for one sample, counted without running it.
#pragma once

#include <cstdint>

#include "attention/catalogue.h"

namespace fib::attention {

struct Cost {
  int64_t pairs = 0;                  ///< (query, key) weights that are formed, over all heads and tokens
  double pruning_ratio = 0;           ///< over the patch tokens (the paper's 98.01 %)
  double pruning_ratio_with_cls = 0;  ///< over all tokens
  double score_macs = 0;              ///< of QKᵀ as the paper counts: all T² pairs times the share not pruned
  double value_macs = 0;              ///< of the product with V, counted alike
  double executed_macs = 0;           ///< of both as they are executed, class rows and projections included
  int64_t parameters = 0;             ///< learned by the mechanism itself
};

Cost cost(const AttentionSpec& spec, const Geometry& geometry);

}  // namespace fib::attention
