// SPDX-License-Identifier: Apache-2.0
// What the paper wants of the heads' support sets, as numbers: little overlap, few pairs, and a union that covers much.
// All of it is about pairs of patch tokens; class tokens meet everything.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fibottention/pattern.h"

namespace fib {

/// Pairs that both heads keep.
int64_t shared_pairs(const SupportSet& support, int64_t a, int64_t b);

/// [heads][heads]: shared pairs over those that either keeps; 1 for equal heads, two empty ones too.
std::vector<std::vector<double>> overlap(const SupportSet& support);

struct Desiderata {
  double mean_overlap = 0, greatest_overlap = 0;  ///< of two different heads; 0 of a single one
  int64_t most_heads_of_a_pair = 0;
  int64_t union_pairs = 0;       ///< that at least one head keeps
  double union_share = 0;        ///< of the N² pairs
  int64_t rows_without_key = 0;  ///< queries that no head gives a key, class tokens included
};

/// Beyond these the answer would take minutes: none is given.
inline constexpr int64_t kMostDesiderataTokens = 4096, kMostReachTokens = 1024, kMostDesiderataHeads = 64;
inline constexpr int64_t kMostDesiderataPairs = 1000000;  ///< listed, in all heads

std::optional<Desiderata> desiderata(const SupportSet& support);

/// Element l is the share of the N² pairs (query, key) whose key the query knows something of after l + 1 layers, a
/// token keeping what it knows. Class tokens carry nothing here: they connect all tokens in two layers.
struct Reach {
  std::vector<double> all_heads;  ///< what any head finds goes on
  std::vector<double> one_head;   ///< what head h finds is followed in head h alone, as layers permute them; the mean
};

/// `support_of` makes the support of a layer.
std::optional<Reach> reach(const std::function<SupportSet(int64_t layer)>& support_of, int64_t layers);

}  // namespace fib
