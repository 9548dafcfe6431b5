// SPDX-License-Identifier: Apache-2.0
// The supports of fibottention::attention, so that a call with the arguments of an earlier one rebuilds nothing.
#pragma once

#include <cstdint>

#include "ops/support.h"

namespace fib::ops {

struct WythoffKey {
  int64_t patches, cls, heads, wmin, wmax;
  int64_t layer;  ///< -1: no permutation
  bool modified, causal;
  friend bool operator==(const WythoffKey&, const WythoffKey&) = default;
};

/// Safe to call from any thread. The cache is bounded: the support that was used longest ago makes room for a new one.
SupportPtr cached_wythoff_support(const WythoffKey& key);

}  // namespace fib::ops
