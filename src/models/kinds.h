// SPDX-License-Identifier: Apache-2.0
// What differs between kinds of backbones, without torch: where attention layers stand, and what all of it costs.
// A kind is a file here, a file in models/ that builds it, and a row in kinds.cpp.
#pragma once

#include <string>
#include <vector>

#include "models/cost.h"

namespace fib::models {

struct Kind {
  const char* name;
  const char* classifier;  ///< prefix of the parameters whose shape depends on the number of classes
  /// Throws std::invalid_argument where a picture's size does not fit.
  void (*check)(const Dimensions& dims);
  /// All that are built with a mechanism, in order of depth.
  std::vector<AttentionLayer> (*layers)(const Dimensions& dims);
  Cost (*cost)(const Dimensions& dims);
};

/// Throws std::logic_error for a row of no kind.
const Kind& kind_of(const Row& row);

/// A check for backbones whose first convolutions fix the size of a patch.
void refuse_other_patches(const Dimensions& dims);

/// In the layers where a model takes the attention asked for: that. Elsewhere dense attention, in the form that was
/// asked for if it was dense.
AttentionSpec spec_of(const Dimensions& dims, bool replaced);

struct LayerPlace {
  int64_t dim = 0;
  int64_t heads = 1;
  int64_t cls = 0;
  attention::Grid grid;
  int64_t layer = 0;  ///< counted over all blocks
};

/// A layer in which the same tokens ask and are asked, heads sharing the width among them.
AttentionLayer square_layer(const AttentionSpec& spec, const LayerPlace& place);

/// Tokens of a grid in every second row and column, where what is left over counts.
attention::Grid halved(const attention::Grid& grid);

extern const Kind kVit, kConvit, kSwin, kIformer, kCvt, kMvit;

}  // namespace fib::models
