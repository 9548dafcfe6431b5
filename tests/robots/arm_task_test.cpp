// SPDX-License-Identifier: Apache-2.0
#include "robots/arm_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "files.h"

namespace fib::robots {
namespace {

ArmState with_object_at(const Vector3& place, const Vector3& gripper = {0, 0, 2}) {
  ArmState state;
  state.object.position = place;
  state.gripper.position = gripper;
  return state;
}

TEST(Lift, is_solved_above_four_centimeters) {
  const ArmTask& lift = find_arm_task("lift");
  EXPECT_FALSE(lift.solved(with_object_at({0, 0, 0.8399})));
  EXPECT_TRUE(lift.solved(with_object_at({0, 0, 0.8401})));
  EXPECT_TRUE(lift.solved(with_object_at({0, 0, 0.8401}, {0, 0, 0.8401})));
}

TEST(Can, is_solved_in_its_quarter_alone) {
  const ArmTask& can = find_arm_task("can");
  const Vector3 middle{0.2, 0.4, 0.86};
  EXPECT_TRUE(can.solved(with_object_at(middle)));
  const double edges[3][2] = {{0.1, 0.295}, {0.28, 0.525}, {0.8, 0.9}};
  for (size_t axis = 0; axis < 3; ++axis) {
    for (const double edge : edges[axis]) {
      const double inwards = edge < middle[axis] ? 1e-4 : -1e-4;
      Vector3 place = middle;
      place[axis] = edge + inwards;
      EXPECT_TRUE(can.solved(with_object_at(place))) << axis << ' ' << edge;
      place[axis] = edge - inwards;
      EXPECT_FALSE(can.solved(with_object_at(place))) << axis << ' ' << edge;
    }
  }
}

TEST(Can, is_solved_once_the_gripper_is_away) {
  const ArmTask& can = find_arm_task("can");
  const double near = std::atanh(0.4) / 10;  // 4.24 cm
  EXPECT_FALSE(can.solved(with_object_at({0.2, 0.4, 0.86}, {0.2, 0.4, 0.86 + near - 1e-4})));
  EXPECT_TRUE(can.solved(with_object_at({0.2, 0.4, 0.86}, {0.2, 0.4, 0.86 + near + 1e-4})));
}

struct Range {
  double least = 1e9, most = -1e9;
  void add(double v) {
    least = std::min(least, v);
    most = std::max(most, v);
  }
  /// Nothing outside, and near both ends something.
  void expect_fills(double low, double high) const {
    const double slack = 0.02 * (high - low);
    EXPECT_GE(least, low);
    EXPECT_LE(least, low + slack);
    EXPECT_LE(most, high);
    EXPECT_GE(most, high - slack);
  }
};

TEST(ArmStarts, of_lift_fill_the_published_ranges) {
  Range x, y, yaw, half;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const ArmStart start = find_arm_task("lift").start(seed);
    x.add(start.object[0]);
    y.add(start.object[1]);
    yaw.add(start.yaw);
    for (const double h : start.half_size) half.add(h);
    EXPECT_DOUBLE_EQ(start.object[2], 0.81 + start.half_size[2]);
  }
  x.expect_fills(-0.03, 0.03);
  y.expect_fills(-0.03, 0.03);
  yaw.expect_fills(0, 2 * std::numbers::pi);
  half.expect_fills(0.020, 0.022);
}

/// Half a bin less a margin of 5 cm and the can's radius of √2 · 2.5 cm.
TEST(ArmStarts, of_can_fill_the_published_ranges) {
  Range x, y, yaw;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const ArmStart start = find_arm_task("can").start(seed);
    x.add(start.object[0] - 0.1);
    y.add(start.object[1] + 0.25);
    yaw.add(start.yaw);
    EXPECT_DOUBLE_EQ(start.object[2], 0.86);
  }
  const double radius = 0.025 * std::numbers::sqrt2;
  x.expect_fills(-(0.145 - radius), 0.145 - radius);
  y.expect_fills(-(0.195 - radius), 0.195 - radius);
  yaw.expect_fills(0, 2 * std::numbers::pi);
}

TEST(ArmStarts, have_joints_about_the_published_posture) {
  const JointValues posture{0, 0.19635, 0, -2.61799, 0, 2.94159, 0.785398};
  for (size_t j = 0; j < kArmJoints; ++j) {
    double sum = 0, squares = 0;
    for (uint32_t seed = 0; seed < 500; ++seed) {
      const double away = find_arm_task("can").start(seed).joints[j] - posture[j];
      sum += away;
      squares += away * away;
    }
    EXPECT_NEAR(sum / 500, 0, 0.004);
    EXPECT_NEAR(std::sqrt(squares / 500), 0.02, 0.002);
  }
}

/// What numpy.random.RandomState(100000) gives: seven of randn, then random_sample.
TEST(ArmStarts, depend_on_the_seed_as_published) {
  const ArmStart start = find_arm_task("lift").start(100000), again = find_arm_task("lift").start(100000);
  EXPECT_EQ(start.joints, again.joints);
  EXPECT_EQ(start.object, again.object);
  EXPECT_NEAR(start.joints[0], 0.001435128427, 1e-9);
  EXPECT_NEAR(start.joints[6], 0.786601158521, 1e-9);
  EXPECT_NEAR(start.object[0], -0.001895672420, 1e-9);
  EXPECT_NEAR(start.object[1], -0.000647910866, 1e-9);
  EXPECT_NEAR(start.yaw, 5.728547003607, 1e-9);
}

TEST(ArmTasks, are_found_by_name) {
  EXPECT_TRUE(test::mentions(test::error_of([] { find_arm_task("lfit"); }), "lift"));
  for (const ArmTask& task : arm_tasks()) EXPECT_EQ(find_arm_task(task.name).environment, task.environment);
}

}  // namespace
}  // namespace fib::robots
