// SPDX-License-Identifier: Apache-2.0
#include "data/ranked_classes.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fib {
namespace {

TEST(RankedClasses, begin_with_the_largest_and_the_lower_index_of_equals) {
  const std::vector<float> logits{1, 3, 0, 3};
  const std::vector<RankedClass> top = best_classes(logits, 3, {"a", "b", "c", "d"});
  ASSERT_EQ(top.size(), size_t{3});
  EXPECT_EQ(top[0].label, "b");
  EXPECT_EQ(top[1].index, 3);
  EXPECT_EQ(top[2].logit, 1);
  const double all = std::exp(1.0) + 2 * std::exp(3.0) + 1;
  EXPECT_NEAR(top[0].probability, std::exp(3.0) / all, 1e-12);
  EXPECT_NEAR(log_sum_exp(logits), std::log(all), 1e-12);
}

TEST(RankedClasses, are_all_where_more_are_asked_for_and_need_no_names) {
  const std::vector<float> large{1000, 1001};
  const std::vector<RankedClass> top = best_classes(large, 5, {});
  ASSERT_EQ(top.size(), size_t{2});
  EXPECT_EQ(top[0].label, "");
  EXPECT_NEAR(top[0].probability + top[1].probability, 1, 1e-12);
}

}  // namespace
}  // namespace fib
