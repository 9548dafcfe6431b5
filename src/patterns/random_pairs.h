// SPDX-License-Identifier: Apache-2.0
// The random parts of BigBird and random attention: explicit pairs, drawn once per layer and head.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "fibottention/pattern.h"

namespace fib {

/// `count` different values of 0 … total-1, ascending; every such set is equally likely.
std::vector<uint64_t> draw_sorted(uint64_t count, uint64_t total, CounterRng& rng);

/// Adds `count` pairs of patch tokens that the head does not have yet and, where causal, may have. Throws
/// std::invalid_argument when fewer than that remain.
void add_random_pairs(HeadPattern& head, int64_t count, const PatternGeometry& geometry, CounterRng& rng);

}  // namespace fib
