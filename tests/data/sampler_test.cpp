// SPDX-License-Identifier: Apache-2.0
#include "data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "files.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;

TEST(Sampler, an_epoch_is_a_permutation_and_each_is_another) {
  const Sampler sampler(100, {.batch = 10, .seed = 1});
  std::vector<size_t> first = sampler.order(0), second = sampler.order(1);
  EXPECT_NE(first, second);
  EXPECT_NE(first, Sampler(100, {.batch = 10, .seed = 2}).order(0));
  EXPECT_EQ(first, Sampler(100, {.batch = 20, .seed = 1}).order(0));
  std::sort(first.begin(), first.end());
  for (size_t i = 0; i < 100; ++i) ASSERT_EQ(first[i], i);
}

TEST(Sampler, without_shuffling_the_order_is_the_datasets) {
  const Sampler sampler(7, {.batch = 3, .shuffle = false, .drop_last = false});
  EXPECT_EQ(sampler.steps_per_epoch(), size_t{3});
  const auto order = sampler.order(5);
  EXPECT_EQ(sampler.part(order, 0), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(sampler.part(order, 2), (std::vector<size_t>{6}));
  EXPECT_EQ(Sampler(7, {.batch = 3}).steps_per_epoch(), size_t{2});
}

TEST(Sampler, the_ranks_of_any_world_share_the_same_global_batch) {
  const Sampler alone(240, {.batch = 24, .seed = 9});
  const auto order = alone.order(3);
  for (size_t world : {2, 3, 4, 24}) {
    for (size_t step = 0; step < alone.steps_per_epoch(); ++step) {
      std::multiset<size_t> together;
      for (size_t rank = 0; rank < world; ++rank) {
        const Sampler sampler(240, {.batch = 24, .rank = rank, .world = world, .seed = 9});
        const auto mine = sampler.part(sampler.order(3), step);
        ASSERT_EQ(mine.size(), 24 / world);
        together.insert(mine.begin(), mine.end());
      }
      const auto whole = alone.part(order, step);
      ASSERT_EQ(together, std::multiset<size_t>(whole.begin(), whole.end()));
    }
  }
}

TEST(Sampler, a_rank_takes_every_world_th_element) {
  const Sampler sampler(8, {.batch = 4, .rank = 1, .world = 2, .shuffle = false});
  EXPECT_EQ(sampler.part(sampler.order(0), 1), (std::vector<size_t>{5, 7}));
}

TEST(Sampler, an_incomplete_batch_is_shared_too) {
  const SamplerOptions base{.batch = 4, .world = 2, .shuffle = false, .drop_last = false};
  SamplerOptions second = base;
  second.rank = 1;
  const Sampler a(5, base), b(5, second);
  EXPECT_EQ(a.part(a.order(0), 1), (std::vector<size_t>{4}));
  EXPECT_TRUE(b.part(b.order(0), 1).empty());
}

TEST(Sampler, repeats_an_image_in_a_row_and_sees_as_many_fewer) {
  const Sampler once(10, {.batch = 5, .seed = 1}), thrice(10, {.batch = 5, .seed = 1, .repeats = 3});
  const auto order = once.order(2), repeated = thrice.order(2);
  ASSERT_EQ(repeated.size(), size_t{10});
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(repeated[i], order[i / 3]);
  EXPECT_EQ(thrice.steps_per_epoch(), size_t{2});
}

TEST(Sampler, repetitions_are_counted_over_all_ranks) {
  for (size_t rank : {0, 1}) {
    const Sampler sampler(12, {.batch = 4, .rank = rank, .world = 2, .seed = 1, .repeats = 3});
    for (size_t step : {0, 1, 2})
      for (size_t slot : {0, 1}) EXPECT_EQ(sampler.repetition(step, slot), (4 * step + rank + 2 * slot) % 3);
  }
}

TEST(Sampler, a_batch_that_is_larger_than_all_memory_holds_what_there_is) {
  const Sampler sampler(7, {.batch = std::numeric_limits<size_t>::max(), .shuffle = false, .drop_last = false});
  EXPECT_EQ(sampler.steps_per_epoch(), 1U);
  EXPECT_EQ(sampler.part(sampler.order(0), 0).size(), 7U);
}

TEST(Sampler, every_position_is_equally_likely) {
  std::vector<int> counts(10);
  for (uint64_t epoch = 0; epoch < 5000; ++epoch) {
    const auto order = Sampler(10, {.batch = 1, .seed = 4}).order(epoch);
    ++counts[static_cast<size_t>(std::find(order.begin(), order.end(), size_t{0}) - order.begin())];
  }
  for (int count : counts) EXPECT_NEAR(count, 500, 85);  // four standard deviations
}

TEST(Sampler, refuses_numbers_that_do_not_fit) {
  const auto error = [](size_t size, const SamplerOptions& options) {
    return error_of([&] { Sampler(size, options); });
  };
  EXPECT_TRUE(mentions(error(10, {.batch = 0}), "batch size 0: accepted is 1 or more"));
  EXPECT_TRUE(mentions(error(10, {.batch = 4, .world = 3}), "batch size 4 over 3 ranks"));
  EXPECT_TRUE(mentions(error(10, {.batch = 4, .rank = 2, .world = 2}), "rank 2 of 2"));
  EXPECT_TRUE(mentions(error(10, {.batch = 11}), "batch size 11 but only 10 images"));
  EXPECT_TRUE(mentions(error(0, {.batch = 1, .drop_last = false}), "no images"));
}

}  // namespace
}  // namespace fib
