// SPDX-License-Identifier: Apache-2.0
// What every support may have besides its own pairs: neighbors on the grid of patches, and summaries of tiles. Both are
// ours and not the paper's.
#pragma once

#include <optional>
#include <vector>

#include "fibottention/pattern.h"
#include "patterns/options.h"

namespace fib {

/// `grid` and `summaries`.
std::vector<PatternOption> grid_options();

/// Where `grid` is given. More neighbors than the grid has are those that it has.
void add_neighbors(std::vector<HeadPattern>& heads, const OptionValues& options, const PatternGeometry& geometry);

/// Keys that a query gets from `grid`, at most.
double neighbors_at_most(const OptionValues& options, const PatternGeometry& geometry);
/// Where `summaries` is given; more tiles along a side than it has patches are one for each patch.
std::optional<Tiling> summaries_of(const OptionValues& options, const PatternGeometry& geometry);

}  // namespace fib
