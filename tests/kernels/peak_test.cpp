// SPDX-License-Identifier: Apache-2.0
#include "kernels/peak.h"

#include <gtest/gtest.h>

#include "kernels/tiles.h"

namespace fib::test {
namespace {

TEST(Peak, counts_what_was_multiplied) {
  const kernels::PeakFunction loop = kernels::peak_of_target(kernels::chosen_target());
  EXPECT_GT(loop(1), 0);
  EXPECT_EQ(loop(100), 100 * loop(1));
}

TEST(Peak, is_a_speed) {
  EXPECT_GT(peak_gflops(), 0.01);
  EXPECT_LT(peak_gflops(), 1e6);
}

}  // namespace
}  // namespace fib::test
