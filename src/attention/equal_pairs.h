// SPDX-License-Identifier: Apache-2.0
// Mechanisms at one budget: the paper compares accuracies at equal cost, and the defaults of two mechanisms differ.
#pragma once

#include <cstdint>
#include <functional>

#include "attention/registry.h"

namespace fib::attention {

/// Pairs of patch tokens that a mechanism has wherever it stands: in a layer, or in all layers of a model.
using PairCount = std::function<int64_t(const AttentionSpec&)>;

/// A mechanism whose pairs were set to those of another.
struct EqualPairs {
  AttentionSpec attention;  ///< with the option that was set
  int64_t pairs = 0, wanted = 0;
};

/// The option to change where a mechanism is to have more or fewer pairs; null where it has none.
const PatternOption* pairs_option(const AttentionSpec& spec);

/// Whether pairs can be set: the mechanism has such an option, and the spec leaves it open.
bool leaves_pairs_open(const AttentionSpec& spec);

/// `spec` with that option where its pairs are nearest to those of `target`, of two such with the fewer pairs. `tokens`
/// is what N means. Throws std::invalid_argument where the spec says the option itself, or has none.
EqualPairs with_equal_pairs(const AttentionSpec& spec, const AttentionSpec& target, int64_t tokens,
                            const PairCount& count);

/// Of patch tokens in one layer over all heads, |Ω|; of a mechanism that is no support set, what its patch tokens form.
int64_t patch_pairs(const AttentionSpec& spec, const PatternGeometry& geometry);

}  // namespace fib::attention
