// SPDX-License-Identifier: Apache-2.0
#include "base/cancel.h"

#include <gtest/gtest.h>

#include <csignal>

namespace fib {
namespace {

TEST(CancelToken, is_requested_once_its_source_asks) {
  CancelSource source;
  const CancelToken before = source.token();
  EXPECT_FALSE(before.requested());
  EXPECT_NO_THROW(before.throw_if_requested());
  source.request(SIGTERM);
  EXPECT_EQ(before.signal(), SIGTERM);
  EXPECT_EQ(source.token().signal(), SIGTERM);
  EXPECT_THROW(before.throw_if_requested(), Cancelled);
}

TEST(CancelToken, without_a_source_is_never_requested_and_outlives_one) {
  EXPECT_FALSE(CancelToken().requested());
  CancelToken kept;
  {
    CancelSource source;
    kept = source.token();
    source.request();
  }
  EXPECT_TRUE(kept.requested());
}

}  // namespace
}  // namespace fib
