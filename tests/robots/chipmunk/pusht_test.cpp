// SPDX-License-Identifier: Apache-2.0
#include "robots/pusht.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "files.h"

namespace fib::robots {
namespace {

struct InitialCase {
  uint32_t seed;
  Point agent, block_set;
  double angle;
  Point block;  ///< after the turn about the center of gravity
};

/// Drawn with NumPy's RandomState; the places as the published environment's old order of setting them gives them.
const InitialCase kInitial[] = {
    {0, {222, 97}, {217, 292}, 3.0079994677219553, {222.99382739283774, 381.59903623605413}},
    {1, {87, 285}, {172, 355}, -6.595749753457083, {158.16250724707317, 357.1803340238075}},
    {2, {218, 65}, {172, 122}, -3.28337113063679, {178.35867862528016, 211.54848152451893}},
    {100000, {235, 124}, {335, 128}, -0.9049274284249247, {299.61288530901334, 145.20158073114663}},
    {100001, {365, 182}, {275, 280}, -1.0981131397099535, {234.9342544278338, 304.51253964625084}},
    {100002, {159, 417}, {295, 339}, -6.114616737632861, {302.5497121077596, 339.63783315605576}},
    {100003, {148, 273}, {301, 204}, -14.329782047628804, {256.83218537319993, 257.6141831355404}},
    {100004, {359, 88}, {229, 340}, 1.5289189661279714, {273.9605472161754, 383.11606952833677}}};

TEST(PushT, begins_where_the_published_seeds_begin) {
  for (const InitialCase& c : kInitial) {
    const PushTState drawn = pusht_drawn_state(c.seed);
    EXPECT_EQ(drawn.agent.x, c.agent.x);
    EXPECT_EQ(drawn.agent.y, c.agent.y);
    EXPECT_EQ(drawn.block.position.x, c.block_set.x);
    EXPECT_EQ(drawn.block.position.y, c.block_set.y);
    EXPECT_NEAR(drawn.block.angle, c.angle, 1e-12);
    PushT world;
    world.reset(c.seed);
    // Nothing overlaps in these, so the physics step after the reset moves nothing.
    EXPECT_NEAR(world.state().block.position.x, c.block.x, 1e-9) << c.seed;
    EXPECT_NEAR(world.state().block.position.y, c.block.y, 1e-9) << c.seed;
    EXPECT_NEAR(world.state().block.angle, c.angle, 1e-12);
  }
}

TEST(PushT, starts_exactly_from_a_state) {
  PushT world;
  world.start_from({{10, 20}, {{300, 310}, -7}});
  const PushTState s = world.state();
  EXPECT_DOUBLE_EQ(s.agent.x, 10);
  EXPECT_DOUBLE_EQ(s.block.position.x, 300);
  EXPECT_DOUBLE_EQ(s.block.position.y, 310);
  EXPECT_DOUBLE_EQ(s.block.angle, -7);
}

/// The T is not touched: the way of the agent is that of a spring with damping, ten semi-implicit Euler steps.
TEST(PushT, moves_the_agent_like_a_damped_spring) {
  PushT world;
  world.start_from({{100, 100}, {{400, 300}, 0}});
  double p = 100, v = 0;
  for (const double target : {160.0, 80.0, 90.0}) {
    world.step({target, 100});
    for (int i = 0; i < 10; ++i) {
      v += (100 * (target - p) - 20 * v) * 0.01;
      p += v * 0.01;
    }
    EXPECT_NEAR(world.state().agent.x, p, 1e-9);
  }
  EXPECT_DOUBLE_EQ(world.state().block.position.x, 400);
}

TEST(PushT, solves_itself_when_the_block_lies_on_its_goal) {
  PushT world;
  world.start_from({{50, 50}, kGoal});
  const PushTStep step = world.step({50, 50});
  EXPECT_NEAR(step.coverage, 1, 1e-12);
  EXPECT_EQ(step.reward, 1);
  EXPECT_TRUE(step.done);
}

TEST(PushT, refuses_actions_outside_the_field) {
  PushT world;
  world.reset(0);
  for (const Point wrong : {Point{-0.1, 5}, Point{5, 512.5}, Point{std::numeric_limits<double>::quiet_NaN(), 1}}) {
    EXPECT_TRUE(test::mentions(test::error_of([&] { world.step(wrong); }), "is outside the field; accepted: 0 to 512"));
  }
}

TEST(PushT, steps_side_by_side_as_it_steps_alone) {
  std::vector<PushT> together(16), alone(16);
  for (uint32_t i = 0; i < 16; ++i) {
    together[i].reset(i);
    alone[i].reset(i);
  }
  for (int t = 0; t < 20; ++t) {
    std::vector<Point> targets;
    for (const PushT& world : together) targets.push_back(world.state().block.position);
    for (Point& p : targets) p = {std::clamp(p.x, 0.0, 512.0), std::clamp(p.y, 0.0, 512.0)};
    const std::vector<PushTStep> steps = step_all(together, targets);
    for (size_t i = 0; i < 16; ++i) EXPECT_EQ(steps[i].coverage, alone[i].step(targets[i]).coverage);
  }
  EXPECT_THROW(step_all(together, std::vector<Point>(3)), std::invalid_argument);
}

}  // namespace
}  // namespace fib::robots
