// SPDX-License-Identifier: Apache-2.0
// What a model costs for one image or clip, counted from its dimensions alone.
#pragma once

#include <vector>

#include "attention/registry.h"
#include "models/table.h"

namespace fib::models {

/// An attention layer where a backbone puts it.
struct AttentionLayer {
  AttentionSpec attention;
  attention::Geometry geometry;  ///< with the q and k channels that the attention asks for
  bool replaced = true;          ///< whether it is the attention that was asked for
  int64_t samples = 1;           ///< of one image: its windows; of one clip: its frames, or places over time
};

/// In order of depth.
std::vector<AttentionLayer> attention_layers(const Dimensions& dims);

/// Multiply-accumulates of one image by part; the attention parts as the paper counts them (attention::Cost).
struct Cost {
  double patch_embed = 0;  ///< what makes tokens of pixels, and fewer, wider tokens of tokens
  double qkv = 0;          ///< with the convolutions that pool keys and values
  double scores = 0;
  double values = 0;
  double projection = 0;
  double mlp = 0;  ///< with convolution blocks
  double head = 0;
  double pruning_ratio = 0;  ///< of the patch tokens' pairs, mean over the layers that take the attention asked for
  double pruning_ratio_by_cost = 0;  ///< the same, each layer weighing what its attention costs when dense
  int64_t patch_pairs = 0;           ///< of those layers, over heads and windows: (query, key) pairs of patch tokens
  int64_t tokens = 0;                ///< of the first block, class tokens included
  int64_t parameters = 0;

  double total() const { return patch_embed + qkv + scores + values + projection + mlp + head; }
};

Cost cost(const Dimensions& dims);

}  // namespace fib::models
