// SPDX-License-Identifier: Apache-2.0
#include "base/caches.h"

#include <gtest/gtest.h>

namespace fib {
namespace {

TEST(Caches, grow_from_the_first_to_the_second) {
  EXPECT_GE(caches().first, 4 << 10);
  EXPECT_GT(caches().second, caches().first);
}

}  // namespace
}  // namespace fib
