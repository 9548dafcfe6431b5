// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/schedule.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "training/recipe/recipe.h"

namespace fib::training {
namespace {

TEST(Schedule, by_epoch_is_timms) {
  const Schedule schedule{.name = "epoch"};
  std::ifstream in(FIB_TEST_DATA "/schedule.json");
  const auto golden = nlohmann::json::parse(in);
  for (const auto& [epoch, lr] : golden.at("epochs").items()) {
    const int64_t t = std::stoll(epoch);
    EXPECT_NEAR(schedule.rate(t * 10, 10), lr.get<double>(), 1e-15) << "epoch " << epoch;
    EXPECT_EQ(schedule.rate(t * 10 + 9, 10), schedule.rate(t * 10, 10)) << "constant within epoch " << epoch;
  }
}

TEST(Schedule, by_step_grows_linearly_then_falls_to_the_least) {
  const Schedule schedule{.name = "step", .epochs = 10, .warmup_epochs = 2, .peak = 1, .warmup_from = 0, .least = 0.1};
  EXPECT_EQ(schedule.rate(0, 100), 0);
  EXPECT_DOUBLE_EQ(schedule.rate(50, 100), 0.25);
  EXPECT_DOUBLE_EQ(schedule.rate(200, 100), 1);
  EXPECT_DOUBLE_EQ(schedule.rate(600, 100), 0.55);
  EXPECT_NEAR(schedule.rate(999, 100), 0.1, 1e-5);
}

TEST(Schedule, without_warmup_begins_at_the_peak) {
  EXPECT_DOUBLE_EQ((Schedule{.epochs = 3, .warmup_epochs = 0, .peak = 0.5}.rate(0, 7)), 0.5);
}

/// The paper's video setting: 0.005 times 1, 0.1 and 0.01 from epochs 0, 11 and 14.
TEST(Schedule, by_milestones_falls_by_gamma_at_each) {
  const Schedule schedule{
      .name = "milestones", .epochs = 15, .warmup_epochs = 0, .peak = 0.005, .milestones = {11, 14}};
  for (int64_t step = 0; step < 150; ++step) {
    const double factor = step < 110 ? 1 : step < 140 ? 0.1 : 0.01;
    EXPECT_NEAR(schedule.rate(step, 10), 0.005 * factor, 1e-15) << "step " << step;
  }
}

/// Values of the published policies' code for decays by the power 0.75, by the number of updates before.
TEST(Average, by_power_is_that_of_diffusion_policies) {
  const AverageSchedule average{.name = "power", .most = 0.9999, .power = 0.75};
  const std::vector<std::pair<int64_t, double>> golden = {{0, 0.0},
                                                          {1, 0.0},
                                                          {2, 0.4053964424986395},
                                                          {10, 0.8221720589961077},
                                                          {100, 0.9683772233983162},
                                                          {1000, 0.9943765867480965},
                                                          {100000, 0.9998221720589962},
                                                          {1000000, 0.9999}};
  for (const auto& [before, decay] : golden) EXPECT_NEAR(average.decay(before + 1), decay, 1e-15) << before;
}

TEST(Average, by_warmup_or_constant) {
  EXPECT_DOUBLE_EQ((AverageSchedule{.most = 0.99992}.decay(1)), 2.0 / 11.0);
  EXPECT_DOUBLE_EQ((AverageSchedule{.most = 0.99992}.decay(3000)), 3001.0 / 3010.0);
  EXPECT_DOUBLE_EQ((AverageSchedule{.most = 0.9}.decay(1000)), 0.9);
  EXPECT_DOUBLE_EQ((AverageSchedule{.name = "constant", .most = 0.99992}.decay(1)), 0.99992);
}

Schedule schedule_of(const Recipe& recipe) { return Schedule::of(recipe.schedule, recipe.optimizer.peak_lr()); }

TEST(Schedule, shortens_a_warmup_that_the_run_has_no_time_for) {
  Recipe recipe;
  recipe.schedule.epochs = 1;
  recipe.schedule.warmup_epochs = 1;
  EXPECT_DOUBLE_EQ(schedule_of(recipe).warmup_epochs, 0.1);
  EXPECT_DOUBLE_EQ(schedule_of(recipe).rate(10, 100), recipe.optimizer.lr);
  recipe.schedule.name = "epoch";
  EXPECT_DOUBLE_EQ(schedule_of(recipe).rate(0, 100), recipe.optimizer.lr)
      << "a whole epoch at warmup_lr would learn nothing";
  recipe.schedule.epochs = 2;
  EXPECT_DOUBLE_EQ(schedule_of(recipe).warmup_epochs, 1) << "what fits is left alone";
}

TEST(Schedule, scales_with_the_batch_where_the_recipe_says_so) {
  Recipe recipe;
  recipe.optimizer.lr = 1e-3;
  recipe.optimizer.batch = 64;
  EXPECT_DOUBLE_EQ(schedule_of(recipe).peak, 1e-3);
  recipe.optimizer.lr_batch = 256;
  EXPECT_DOUBLE_EQ(schedule_of(recipe).peak, 0.25e-3);
}

}  // namespace
}  // namespace fib::training
