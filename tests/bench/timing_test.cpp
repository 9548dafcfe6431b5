// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "bench/measure.h"

namespace fib::bench {
namespace {

void pass_time(int microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

TEST(InterleavedTiming, ranks_the_slower_one_slower) {
  const auto t = time_interleaved({[] { pass_time(40000); }, [] { pass_time(300); }}, {0.1, 3, 10, 5.0});
  ASSERT_EQ(t.size(), 2U);
  EXPECT_GE(t[0].min_ms, 40.0);
  EXPECT_GE(t[1].min_ms, 0.3);
  EXPECT_LT(t[1].min_ms, t[0].min_ms);
  EXPECT_LE(t[0].min_ms, t[0].median_ms);
}

TEST(InterleavedTiming, takes_turns) {
  std::string order;
  time_interleaved({[&] { order += 'a'; }, [&] { order += 'b'; }}, {1.0, 3, 3, 0.0});
  EXPECT_EQ(order, "abababab");  // one run each to plan, then three rounds
}

TEST(InterleavedTiming, takes_at_least_its_least_rounds) {
  const auto t = time_interleaved({[] { pass_time(2000); }}, {3600, 3, 3, 1.0});
  EXPECT_EQ(t[0].runs, 4);  // one to plan
}

TEST(InterleavedTiming, times_once_who_is_slower_than_all_may_be) {
  const auto t = time_interleaved({[] { pass_time(20000); }, [] {}}, {0.005, 3, 3, 1.0});
  EXPECT_EQ(t[0].runs, 1);
  EXPECT_GT(t[1].runs, 3);
}

TEST(InterleavedTiming, tells_how_far_it_is) {
  std::vector<double> told;
  time_interleaved({[] {}}, {1.0, 4, 4, 0.0}, [&](double done) { told.push_back(done); });
  EXPECT_EQ(told, (std::vector<double>{0.25, 0.5, 0.75, 1.0}));
}

}  // namespace
}  // namespace fib::bench
