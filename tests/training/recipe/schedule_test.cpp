// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/schedule.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace fib::training {
namespace {

TEST(Schedule, by_epoch_is_timms) {
  const Schedule schedule{.unit = ScheduleUnit::epoch};
  std::ifstream in(FIB_TEST_DATA "/schedule.json");
  const auto golden = nlohmann::json::parse(in);
  for (const auto& [epoch, lr] : golden.at("epochs").items()) {
    const int64_t t = std::stoll(epoch);
    EXPECT_NEAR(schedule.rate(t * 10, 10), lr.get<double>(), 1e-15) << "epoch " << epoch;
    EXPECT_EQ(schedule.rate(t * 10 + 9, 10), schedule.rate(t * 10, 10)) << "constant within epoch " << epoch;
  }
}

TEST(Schedule, by_step_grows_linearly_then_falls_to_the_least) {
  const Schedule schedule{
      .unit = ScheduleUnit::step, .epochs = 10, .warmup_epochs = 2, .peak = 1, .warmup_from = 0, .least = 0.1};
  EXPECT_EQ(schedule.rate(0, 100), 0);
  EXPECT_DOUBLE_EQ(schedule.rate(50, 100), 0.25);
  EXPECT_DOUBLE_EQ(schedule.rate(200, 100), 1);
  EXPECT_DOUBLE_EQ(schedule.rate(600, 100), 0.55);
  EXPECT_NEAR(schedule.rate(999, 100), 0.1, 1e-5);
}

TEST(Schedule, without_warmup_begins_at_the_peak) {
  EXPECT_DOUBLE_EQ((Schedule{.epochs = 3, .warmup_epochs = 0, .peak = 0.5}.rate(0, 7)), 0.5);
}

TEST(Schedule, scales_with_the_batch_where_the_recipe_says_so) {
  Recipe recipe;
  recipe.lr = 1e-3;
  recipe.batch = 64;
  EXPECT_DOUBLE_EQ(Schedule::of(recipe).peak, 1e-3);
  recipe.lr_batch = 256;
  EXPECT_DOUBLE_EQ(Schedule::of(recipe).peak, 0.25e-3);
}

}  // namespace
}  // namespace fib::training
