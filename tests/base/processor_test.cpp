// SPDX-License-Identifier: Apache-2.0
#include "base/processor.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace fib {

namespace {

/// Highway asks the processor in its own way; the two must agree on AVX-512 and AVX2, whichever of them our kernels
/// were compiled for.
TEST(OpenblasCore, fits_the_targets_this_machine_can_run) {
  const auto targets = hwy::SupportedTargets();
  const std::string core = openblas_core().value_or("");
#if defined(__x86_64__)
  if ((targets & HWY_AVX3) != 0) {
    EXPECT_EQ(core, "SKYLAKEX");
  } else if ((targets & HWY_AVX2) != 0) {
    EXPECT_EQ(core, "HASWELL");
  } else {
    EXPECT_EQ(core, "");
  }
#else
  EXPECT_NE(targets, 0);
  EXPECT_EQ(core, "");
#endif
}

TEST(Caches, grow_from_the_first_to_the_second) {
  EXPECT_GE(caches().first, 4 << 10);
  EXPECT_GT(caches().second, caches().first);
}

}  // namespace

}  // namespace fib
