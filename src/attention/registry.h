// SPDX-License-Identifier: Apache-2.0
// Every attention mechanism by name, without torch: the support sets of patterns/ and the few that are none. All that
// can be told of a mechanism without running it stands in its entry; how it is made is in torch/mechanism.cpp, under
// the same name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/geometry.h"
#include "fibottention/attention.h"
#include "fibottention/pattern.h"

namespace fib::attention {

/// What a mechanism costs in one layer and for one sample, counted without running it.
struct Cost {
  int64_t pairs = 0;                  ///< (query, key) weights that are formed, over all heads and tokens
  int64_t patch_pairs = 0;            ///< the same of patch tokens alone, |Ω|: what the paper counts
  double pruning_ratio = 0;           ///< over the patch tokens (the paper's 98.01 %)
  double pruning_ratio_with_cls = 0;  ///< over all tokens
  double score_macs = 0;              ///< of QKᵀ as the paper counts: all T² pairs times the share not pruned
  double value_macs = 0;              ///< of the product with V, counted alike
  double executed_macs = 0;           ///< of both as they are executed, class rows and projections included
  int64_t parameters = 0;             ///< learned by the mechanism itself
};

/// Name, summary and options with their defaults, and what others need to know of it.
struct MechanismInfo : PatternInfo {
  bool support_set = false;  ///< its pairs depend on positions alone, and every one takes the option `masking`
  bool dense = false;        ///< forms all pairs, as layers do that do not take the attention asked for
  bool composed = false;     ///< a few matrix products and softmaxes: a recording holds these, and not the mechanism
  Cost (*cost)(const AttentionSpec& spec, const Geometry& geometry) = nullptr;
  /// Channels of q and k per head that it wants; null: those of the geometry.
  int64_t (*query_key_dim)(const AttentionSpec& spec, const Geometry& geometry) = nullptr;
  /// Why scores cannot have a term of their own for each pair; empty where they can.
  std::string (*bias_refusal)(const AttentionSpec& spec) = nullptr;
  std::string map_refusal = {};  ///< why it has no attention map; empty where it has
  /// Whether the scores of all pairs are in memory at once; null: never.
  bool (*holds_all_scores)(const AttentionSpec& spec, bool training) = nullptr;
};

/// In the order they are listed to people.
const std::vector<MechanismInfo>& mechanisms();

/// Throws std::invalid_argument with the nearest name and the list for an unknown one.
const MechanismInfo& find_mechanism(const std::string& name);

/// Throws unless the mechanism exists and has the options given. Their values are checked where a geometry is known.
void check_spec(const AttentionSpec& spec);

/// Throws std::invalid_argument, saying what the mechanism is instead, where its pairs do not follow from positions.
void require_pattern(const AttentionSpec& spec);

/// An integer option of a mechanism that is no support set; `tokens` is what N means in its value.
int64_t integer_option(const AttentionSpec& spec, const std::string& key, int64_t least, int64_t tokens);
/// An option that takes one of a few words.
std::string choice_option(const AttentionSpec& spec, const std::string& key);

/// The option that every support set has here.
PatternOption masking_option();
/// That one, and those of every support set wherever it is used: neighbors on the grid, summaries.
std::vector<PatternOption> shared_options();
Masking masking_of(const AttentionSpec& spec);

/// Throws std::invalid_argument with the reason where a mechanism cannot work in such a layer.
void check_fit(const AttentionSpec& spec, const Geometry& geometry);

/// The channels of q and k per head that the mechanism wants from a block whose heads have geometry.head_dim.
int64_t query_key_dim(const AttentionSpec& spec, const Geometry& geometry);

Cost cost(const AttentionSpec& spec, const Geometry& geometry);

/// Whether all layers of one geometry have as many pairs, though they may draw and permute anew: not where one head's
/// mask, which differs from layer to layer, stands for all heads.
bool same_pairs_in_every_layer(const AttentionSpec& spec);

/// The support set of one layer. Where the grids differ it is made on the coarse grid, the elementwise minimum of both:
/// a pair is kept if the cells of its tokens are (this rule is ours; equal grids reduce to the paper).
SupportSet layer_support(const AttentionSpec& spec, const Geometry& geometry);

/// The same mechanism as the registry of patterns knows it, checked and without `masking`: what is outside a support is
/// not its business.
AttentionSpec pattern_spec(const AttentionSpec& spec);

}  // namespace fib::attention
