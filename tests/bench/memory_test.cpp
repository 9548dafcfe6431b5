// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "bench/measure.h"

namespace fib::bench {
namespace {

constexpr int64_t kMega = 1 << 20;

TEST(PeakMemory, sees_what_was_used_and_given_back) {
  const PeakMemory peak;
  {
    const auto block = std::make_unique<char[]>(64 * kMega);
    std::memset(block.get(), 1, 64 * kMega);
    volatile char sink = block[63 * kMega];
    (void)sink;
  }
  const auto growth = peak.growth();
  if (!growth) GTEST_SKIP() << "this kernel does not reset the peak";
  EXPECT_GE(*growth, 63 * kMega);
  EXPECT_LT(*growth, 80 * kMega);
  const PeakMemory fresh;
  EXPECT_LT(*fresh.growth(), 8 * kMega);
}

TEST(Memory, is_known) {
  EXPECT_GT(available_memory(), kMega);
  EXPECT_GT(resident_memory(), kMega);
}

}  // namespace
}  // namespace fib::bench
