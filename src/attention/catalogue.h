// SPDX-License-Identifier: Apache-2.0
// Every attention mechanism by name, without torch: the support sets of patterns/ and the four that are none.
#pragma once

#include <string>
#include <vector>

#include "attention/geometry.h"
#include "fibottention/attention.h"
#include "fibottention/pattern.h"

namespace fib::attention {

enum class Family { dense, support, topk, linformer, efficient };

struct Entry {
  PatternInfo info;  ///< name, summary and options with their defaults
  Family family;
};

/// In the order they are listed to people.
const std::vector<Entry>& catalogue();

/// Throws std::invalid_argument with the nearest name and the list for an unknown one.
const Entry& find_entry(const std::string& name);

/// Throws unless the mechanism exists and has the options given. Their values are checked where a geometry is known.
void check_spec(const AttentionSpec& spec);

/// An integer option of topk, linformer or efficient; `tokens` is what N means in its value.
int64_t integer_option(const AttentionSpec& spec, const std::string& key, int64_t least, int64_t tokens);
/// An option that takes one of a few words.
std::string choice_option(const AttentionSpec& spec, const std::string& key, const std::vector<std::string>& accepted);

/// The option that every support set has here.
PatternOption masking_option();
Masking masking_of(const AttentionSpec& spec);

/// Throws std::invalid_argument with the reason where a mechanism cannot work in such a layer.
void check_fit(const AttentionSpec& spec, const Geometry& geometry);

/// The channels of q and k per head that the mechanism wants from a block whose heads have geometry.head_dim.
int64_t query_key_dim(const AttentionSpec& spec, const Geometry& geometry);

/// The support set of one layer. Where the grids differ it is made on the coarse grid, the elementwise minimum of both:
/// a pair is kept if the cells of its tokens are (this rule is ours; equal grids reduce to the paper).
SupportSet layer_support(const AttentionSpec& spec, const Geometry& geometry);

}  // namespace fib::attention
