// SPDX-License-Identifier: Apache-2.0
// UPop, unified progressive pruning: which channels of a transformer a share of pruning takes, by the gradients of
// their masks summed over all steps so far.
//
// Letters: L blocks, d channels of a head, m hidden channels of an MLP.
#pragma once

#include <torch/torch.h>

namespace fib::training {

/// The share that is to be pruned after `step`, counted from 0, of `steps`: from about 0 to `ratio` at the last.
double pruning_share(double ratio, int64_t step, int64_t steps);

/// A number for each channel: [L,d] of attention and [L,m] of the MLPs.
struct ChannelValues {
  at::Tensor attention, hidden;
};

struct PruningTarget {
  double share = 0;              ///< of the prunable parameters, now
  double ratio = 0.5;            ///< the share at the end
  int64_t attention_weight = 1;  ///< parameters of an attention channel over those of a hidden one, rounded down
};

struct MaskUpdate {
  double threshold = 0;
  ChannelValues masks;  ///< 1 where a channel stays, else 1 - share / ratio: 0 at the end
};

/// Attention and MLPs are ranked together, each brought to mean 0 and deviation 1 first; channels above the threshold
/// shrink, but the least of a block never.
MaskUpdate updated_masks(const ChannelValues& saliency, const PruningTarget& target);

/// Of a block with this width and number of heads.
int64_t attention_weight(int64_t dim, int64_t heads);

}  // namespace fib::training
