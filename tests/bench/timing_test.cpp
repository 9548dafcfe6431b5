// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "bench/measure.h"

namespace fib::bench {
namespace {

/// Time that passes by what contestants take.
class InterleavedTiming : public testing::Test {
 protected:
  std::function<void()> takes(double ms) {
    return [this, ms] { now_ += ms; };
  }
  std::vector<Timing> time(const std::vector<std::function<void()>>& contestants, const TimingOptions& options,
                           const Progress& progress = {}) {
    return time_interleaved(contestants, options, progress, [this] { return now_; });
  }

  double now_ = 0;
};

TEST_F(InterleavedTiming, is_that_of_each_contestant) {
  const auto t = time({takes(40), takes(0.25)}, {0.1, 3, 10, 5.0});
  ASSERT_EQ(t.size(), 2U);
  EXPECT_DOUBLE_EQ(t[0].min_ms, 40);
  EXPECT_DOUBLE_EQ(t[0].median_ms, 40);
  EXPECT_DOUBLE_EQ(t[1].min_ms, 0.25);
}

TEST_F(InterleavedTiming, has_the_shortest_run_and_the_one_in_the_middle) {
  double next = 7;
  const auto t = time({[&] { now_ += next--; }}, {1.0, 4, 4, 0.0});  // 7, 6, 5, 4, 3
  EXPECT_DOUBLE_EQ(t[0].min_ms, 3);
  EXPECT_DOUBLE_EQ(t[0].median_ms, 5);
}

TEST_F(InterleavedTiming, takes_turns) {
  std::string order;
  time({[&] { order += 'a'; }, [&] { order += 'b'; }}, {1.0, 3, 3, 0.0});
  EXPECT_EQ(order, "abababab");  // one run each to plan, then three rounds
}

TEST_F(InterleavedTiming, takes_at_least_its_least_rounds) {
  EXPECT_EQ(time({takes(2)}, {3600, 3, 3, 1.0})[0].runs, 4);  // one to plan
}

TEST_F(InterleavedTiming, times_once_who_is_slower_than_all_may_be) {
  const auto t = time({takes(20), [] {}}, {0.005, 3, 3, 1.0});
  EXPECT_EQ(t[0].runs, 1);
  EXPECT_GT(t[1].runs, 3);
}

TEST_F(InterleavedTiming, tells_how_far_it_is) {
  std::vector<double> told;
  time({[] {}}, {1.0, 4, 4, 0.0}, [&](double done) { told.push_back(done); });
  EXPECT_EQ(told, (std::vector<double>{0.25, 0.5, 0.75, 1.0}));
}

TEST(WallClock, never_goes_back) {
  const double before = wall_clock();
  EXPECT_GE(wall_clock(), before);
}

}  // namespace
}  // namespace fib::bench
