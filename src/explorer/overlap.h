// SPDX-License-Identifier: Apache-2.0
// How much two heads of a layer look at the same.
#pragma once

#include <vector>

#include "fibottention/pattern.h"

namespace fib::explorer {

/// Pairs of patch tokens that both heads keep.
int64_t shared_pairs(const SupportSet& support, int64_t a, int64_t b);

/// [heads][heads]: shared pairs over those that either keeps; 1 for equal heads, two empty ones too.
std::vector<std::vector<double>> overlap(const SupportSet& support);

}  // namespace fib::explorer
