// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace fib {

TEST(CounterRng, gives_the_same_stream_for_the_same_keys) {
  CounterRng a(7, {1, 2}), b(7, {1, 2});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next_u64(), b.next_u64());
}

TEST(CounterRng, never_changes_between_releases) {
  CounterRng rng(42, {3, 14});
  EXPECT_EQ(rng.next_u64(), UINT64_C(1957896052455984714));
  EXPECT_EQ(rng.next_u64(), UINT64_C(15492466263978759500));
}

TEST(CounterRng, tells_seeds_keys_their_order_and_their_number_apart) {
  const std::set<uint64_t> first = {
      CounterRng(0).at(0),         CounterRng(1).at(0),         CounterRng(0, {0}).at(0),    CounterRng(0, {1}).at(0),
      CounterRng(0, {0, 0}).at(0), CounterRng(0, {0, 1}).at(0), CounterRng(0, {1, 0}).at(0), CounterRng(1, {0}).at(0)};
  EXPECT_EQ(first.size(), 8u);
}

TEST(CounterRng, reaches_any_value_without_the_ones_before) {
  CounterRng rng(5, {9});
  const uint64_t tenth = rng.at(9);
  for (int i = 0; i < 9; ++i) rng.next_u64();
  EXPECT_EQ(rng.next_u64(), tenth);
}

TEST(CounterRng, uniform_fills_the_unit_interval_evenly) {
  CounterRng rng(1);
  std::vector<int> bins(20);
  for (int i = 0; i < 100000; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++bins[static_cast<size_t>(u * 20)];
  }
  for (int count : bins) EXPECT_NEAR(count, 5000, 350);  // five standard deviations
}

TEST(CounterRng, below_is_even_and_in_range) {
  CounterRng rng(2);
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts[rng.below(7)];
  for (int count : counts) EXPECT_NEAR(count, 10000, 470);
  EXPECT_EQ(rng.below(1), 0u);
}

TEST(CounterRng, below_favours_nothing_near_the_top_of_64_bits) {
  // Three quarters of 2⁶⁴: without rejection the lowest third would come twice as often as the others.
  CounterRng rng(3);
  const uint64_t quarter = UINT64_C(1) << 62;
  std::vector<int> thirds(3);
  for (int i = 0; i < 30000; ++i) ++thirds[rng.below(3 * quarter) / quarter];
  for (int count : thirds) EXPECT_NEAR(count, 10000, 410);
}

TEST(CounterRng, neighbouring_streams_are_uncorrelated) {
  double sum = 0;
  for (uint64_t k = 0; k < 10000; ++k) {
    CounterRng a(0, {k}), b(0, {k + 1});
    sum += (a.uniform() - 0.5) * (b.uniform() - 0.5);
  }
  EXPECT_NEAR(sum / 10000 * 12, 0.0, 0.05);
}

}  // namespace fib
