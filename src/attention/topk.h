// SPDX-License-Identifier: Apache-2.0
// Which keys a query of top-k attention keeps: one rule for the LibTorch mechanism and for compiled models.
#pragma once

#include <cstdint>
#include <vector>

namespace fib::attention {

template <class T>
struct ScoredKey {
  T score;
  int64_t key;
};

/// Leaves the k of largest score, or all if there are fewer: the largest first, of equal scores the lower key first,
/// and NaN before all numbers.
template <class T>
void keep_largest(std::vector<ScoredKey<T>>& scored, int64_t k);

}  // namespace fib::attention
