// SPDX-License-Identifier: Apache-2.0
// Arrays of float32 for kernels, and how near they must be to sums in float64.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace fib::test {

/// Numbers of [−1, 1), others for every stream.
inline std::vector<float> random_floats(int64_t count, uint64_t stream) {
  std::vector<float> values(static_cast<size_t>(count));
  const CounterRng draws(7, {stream});
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<double>(draws.at(i) >> 40) / double(1 << 23) - 1.0);
  }
  return values;
}

/// Relative to the largest.
inline void expect_near(const std::vector<float>& got, const std::vector<float>& wanted, const char* what) {
  float largest = 1.0f;
  for (const float w : wanted) largest = std::max(largest, std::abs(w));
  for (size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 2e-6f * largest) << what << " " << i;
}

}  // namespace fib::test
