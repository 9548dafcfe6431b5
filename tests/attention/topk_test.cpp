// SPDX-License-Identifier: Apache-2.0
#include "attention/topk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "base/rng.h"

namespace fib::attention {
namespace {

std::vector<int64_t> kept(const std::vector<float>& scores, int64_t k) {
  std::vector<ScoredKey<float>> scored;
  for (const float score : scores) scored.push_back({score, static_cast<int64_t>(scored.size())});
  keep_largest(scored, k);
  std::vector<int64_t> keys;
  for (const auto& s : scored) keys.push_back(s.key);
  return keys;
}

TEST(KeepLargest, puts_the_largest_first) {
  EXPECT_EQ(kept({0.5f, -1.0f, 3.0f, 2.0f}, 2), (std::vector<int64_t>{2, 3}));
}

TEST(KeepLargest, keeps_the_lower_key_of_equal_scores) {
  EXPECT_EQ(kept({1, 1, 1, 2, 1}, 3), (std::vector<int64_t>{3, 0, 1}));
  const float none = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(kept({none, none, none}, 2), (std::vector<int64_t>{0, 1}));
}

TEST(KeepLargest, keeps_all_where_there_are_fewer) { EXPECT_EQ(kept({1, 2}, 5), (std::vector<int64_t>{1, 0})); }

TEST(KeepLargest, takes_nan_for_the_largest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(kept({1, nan, 3, nan}, 3), (std::vector<int64_t>{1, 3, 2}));
}

TEST(KeepLargest, is_the_beginning_of_a_stable_sort) {
  CounterRng rng(7);
  for (const int64_t k : {1, 3, 40, 199, 200}) {
    std::vector<float> scores(200);
    for (float& s : scores) s = static_cast<float>(rng.below(20));  // ten of each value
    std::vector<int64_t> expected(scores.size());
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int64_t>(i);
    std::ranges::stable_sort(expected, std::greater(), [&](int64_t i) { return scores[static_cast<size_t>(i)]; });
    expected.resize(static_cast<size_t>(k));
    EXPECT_EQ(kept(scores, k), expected) << k;
  }
}

}  // namespace
}  // namespace fib::attention
