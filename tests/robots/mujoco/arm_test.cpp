// SPDX-License-Identifier: Apache-2.0
// The arm on MuJoCo. FIB_LONG_TESTS=1 makes of a dozen random poses, which show that something is wrong, the two
// hundred that show that nothing is.
#include "robots/arm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>

#include "files.h"
#include "robots/arm_task.h"

namespace fib::robots {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kLimits[kArmJoints][2] = {{-2.8973, 2.8973}, {-1.7628, 1.7628}, {-2.8973, 2.8973}, {-3.0718, -0.0698},
                                           {-2.8973, 2.8973}, {-0.0175, 3.7525}, {-2.8973, 2.8973}};

bool long_tests() { return std::getenv("FIB_LONG_TESTS") != nullptr; }

std::unique_ptr<ArmWorld> plain_world(const std::string& task) { return open_arm_world(find_arm_task(task).scene({})); }

ArmAction action_to(const Pose3& pose, double gripper = -1) {
  const Vector3 turn = axis_angle_of(pose.rotation);
  return {pose.position[0], pose.position[1], pose.position[2], turn[0], turn[1], turn[2], gripper};
}

void expect_within_limits(const ArmState& state) {
  for (size_t j = 0; j < kArmJoints; ++j) {
    EXPECT_GT(state.joints[j], kLimits[j][0] - 0.2 * kDegree) << j;
    EXPECT_LT(state.joints[j], kLimits[j][1] + 0.2 * kDegree) << j;
  }
}

/// Where the gripper is with joints drawn about their first posture, up to 16 cm and 20 degrees away and clear of the
/// table: reached by the joints, so reachable. Farther ones take longer: position and turn are controlled as if they
/// did not disturb each other, as published.
Pose3 drawn_pose(ArmWorld& world, const ArmStart& home, CounterRng& rng) {
  for (;;) {
    ArmStart drawn = home;
    for (size_t j = 0; j < kArmJoints; ++j) {
      const double away = uniform_between(rng, -0.15, 0.15);
      drawn.joints[j] = std::clamp(home.joints[j] + away, kLimits[j][0] + 0.2, kLimits[j][1] - 0.2);
    }
    world.start(drawn);
    const Pose3 pose = world.state().gripper;
    if (pose.position[2] > 0.95) return pose;
  }
}

TEST(ArmController, settles_on_reachable_poses_within_a_second) {
  const auto world = plain_world("lift");
  const ArmStart home = find_arm_task("lift").start(1);
  CounterRng rng(11);
  for (int i = 0; i < (long_tests() ? 200 : 12); ++i) {
    const Pose3 pose = drawn_pose(*world, home, rng);
    world->start(home);
    for (int t = 0; t < kArmHertz; ++t) {
      world->step(action_to(pose), ArmActions::absolute);
      expect_within_limits(world->state());
    }
    const Pose3 reached = world->state().gripper;
    EXPECT_LT(length(reached.position - pose.position), 0.002) << i;
    EXPECT_LT(angle_between(reached.rotation, pose.rotation), 1 * kDegree) << i;
  }
}

TEST(ArmController, moves_by_deltas_from_where_it_is) {
  const auto world = plain_world("lift");
  world->start(find_arm_task("lift").start(1));
  const Pose3 before = world->state().gripper;
  for (int t = 0; t < 5; ++t) world->step({0, 0.4, 0, 0, 0, 0, -1}, ArmActions::delta);
  const Pose3 after = world->state().gripper;
  EXPECT_GT(after.position[1] - before.position[1], 0.02);
  EXPECT_NEAR(after.position[0], before.position[0], 0.005);
  EXPECT_LT(angle_between(after.rotation, before.rotation), 2 * kDegree);
  // More than one is one.
  const auto moved = [&](double delta) {
    world->start(find_arm_task("lift").start(1));
    for (int t = 0; t < 3; ++t) world->step({0, 0, delta, 0, 0, 0, 0}, ArmActions::delta);
    return world->state().gripper.position[2];
  };
  EXPECT_EQ(moved(1), moved(7));
}

TEST(ArmController, stays_calm_when_pushed_into_the_table) {
  const auto world = plain_world("lift");
  world->start(find_arm_task("lift").start(1));
  const double first = world->energy();
  Pose3 below{{0.1, 0.1, 0.6}, downward(0)};
  double most = 0;
  for (int t = 0; t < 60; ++t) {
    world->step(action_to(below, 1), ArmActions::absolute);
    most = std::max(most, world->energy());
    expect_within_limits(world->state());
  }
  EXPECT_LT(most, first + 50);
  EXPECT_GT(world->state().gripper.position[2], 0.78);
  const JointValues speeds = world->state().velocities;
  for (const double v : speeds) EXPECT_LT(std::abs(v), 0.3);
}

TEST(ArmController, does_not_leave_its_joints_limits_for_what_is_out_of_reach) {
  const auto world = plain_world("lift");
  for (const Vector3& place : {Vector3{0.6, 0, 1}, Vector3{-0.5, 0.1, 2.3}, Vector3{-0.3, 0.9, 1}}) {
    world->start(find_arm_task("lift").start(2));
    for (int t = 0; t < 60; ++t) {
      world->step(action_to({place, downward(1.5)}), ArmActions::absolute);
      for (size_t j = 0; j < kArmJoints; ++j) {
        EXPECT_GT(world->state().joints[j], kLimits[j][0] - 1 * kDegree) << j;
        EXPECT_LT(world->state().joints[j], kLimits[j][1] + 1 * kDegree) << j;
      }
    }
  }
}

TEST(ArmGripper, opens_and_closes_at_its_own_speed) {
  const auto world = plain_world("lift");
  world->start(find_arm_task("lift").start(1));
  const ArmAction here = action_to(world->state().gripper);
  const auto after = [&](double gripper, int steps) {
    ArmAction action = here;
    action.back() = gripper;
    for (int t = 0; t < steps; ++t) world->step(action, ArmActions::absolute);
    return world->state().fingers[0] - world->state().fingers[1];
  };
  EXPECT_GT(after(-1, 15), 0.07);
  EXPECT_LT(after(1, 20), 0.01);
}

TEST(ArmWorlds, refuse_actions_that_are_no_numbers) {
  const auto world = plain_world("lift");
  world->start(find_arm_task("lift").start(1));
  ArmAction action{};
  action[4] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(test::mentions(test::error_of([&] { world->step(action, ArmActions::absolute); }), "finite numbers"));
}

TEST(ArmWorlds, are_the_same_for_the_same_seed) {
  for (const ArmTask& task : arm_tasks()) {
    const auto one = plain_world(task.name), two = plain_world(task.name);
    two->start(task.start(9));  // what was before does not count
    two->step(action_to({{0, 0, 1}, downward(0)}), ArmActions::absolute);
    for (ArmWorld* world : {one.get(), two.get()}) world->start(task.start(5));
    EXPECT_EQ(one->recorded_state(), two->recorded_state());
    const ArmObservation a = one->observe(one->snapshot()), b = two->observe(two->snapshot());
    EXPECT_EQ(a.agentview, b.agentview);
    EXPECT_EQ(a.eye_in_hand, b.eye_in_hand);
    EXPECT_EQ(a.agentview.size(), size_t{84} * 84 * 3);
    EXPECT_NE(a.agentview, a.eye_in_hand);
    two->start(task.start(6));
    EXPECT_NE(two->observe(two->snapshot()).agentview, a.agentview);
  }
}

/// What a recording has of the gripper is where physics has it.
TEST(ArmWorlds, see_what_they_compute) {
  const auto world = plain_world("can");
  world->start(find_arm_task("can").start(3));
  const ArmObservation seen = world->observe(world->snapshot());
  for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(seen.eef_pos[k], world->state().gripper.position[k], 1e-9);
  EXPECT_EQ(seen.gripper_qpos, world->state().fingers);
}

/// With robosuite's meshes where they are named.
class Expert : public testing::TestWithParam<const char*> {};

TEST_P(Expert, solves_what_it_is_asked) {
  const ArmTask& task = find_arm_task(GetParam());
  const auto world = open_arm_world(task.scene(robosuite_assets()));
  for (const uint32_t seed : {100000U, 100001U}) {
    const ArmEpisode episode = play_expert(*world, task, seed);
    EXPECT_TRUE(episode.solved()) << seed;
    EXPECT_EQ(episode.snapshots.size(), episode.actions.size() + 1);
    EXPECT_LT(static_cast<int64_t>(episode.actions.size()), kArmMaxSteps);
  }
  EXPECT_EQ(play_expert(*world, task, 100001).actions, play_expert(*world, task, 100001).actions);
}

/// Whatever plays beside it: a world has its own physics and its own picture.
TEST(Experts, play_side_by_side_as_they_play_alone) {
  const ArmTask& task = find_arm_task("lift");
  const ArmScene scene = task.scene({});
  const auto one_world = open_arm_world(scene);
  uint32_t seed = 7;
  play_experts(scene, task, {seed, 3}, [&](const ArmEpisode& episode) {
    const ArmEpisode alone = play_expert(*one_world, task, seed);
    EXPECT_EQ(episode.seed, seed++);
    EXPECT_EQ(episode.actions, alone.actions);
    EXPECT_EQ(episode.states, alone.states);
  });
  EXPECT_EQ(seed, 10U);
}

INSTANTIATE_TEST_SUITE_P(Arm, Expert, testing::Values("lift", "can"),
                         [](const auto& task) { return std::string(task.param); });

}  // namespace
}  // namespace fib::robots
