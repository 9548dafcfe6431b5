// SPDX-License-Identifier: Apache-2.0
#include "base/blas_core.h"

#include <gtest/gtest.h>

#include "fibottention/attention.h"

namespace fib {
namespace {

/// Highway asks the processor in its own way; the two must agree on AVX-512 and AVX2.
TEST(OpenblasCore, fits_the_targets_this_machine_can_run) {
  const auto targets = simd_targets();
  const auto runs = [&](const char* prefix) {
    for (const std::string& target : targets) {
      if (target.rfind(prefix, 0) == 0) return true;
    }
    return false;
  };
  const std::string core = openblas_core().value_or("");
  if (runs("AVX3")) {
    EXPECT_EQ(core, "SKYLAKEX");
  } else if (runs("AVX2")) {
    EXPECT_EQ(core, "HASWELL");
  } else {
    EXPECT_EQ(core, "");
  }
}

}  // namespace
}  // namespace fib
