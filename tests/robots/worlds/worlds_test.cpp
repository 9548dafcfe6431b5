// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "files.h"
#include "robots/arm_task.h"
#include "robots/pusht.h"
#include "robots/recording.h"
#include "robots/robot.h"

namespace fib::robots {
namespace {

using test::error_of;
using test::mentions;

bool arms_are_built() {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return std::filesystem::exists(here / "libfib_arm.so");
}

TEST(Robots, are_moved_by_policies_that_see_what_they_show) {
  for (const Robot& robot : robots()) {
    EXPECT_EQ(&find_robot(robot.name), &robot);
    const auto fits = [&](const Policy& policy) { return policy.task.name == robot.policy_task; };
    EXPECT_GE(std::ranges::count_if(policies(), fits), 3) << robot.name;
  }
  EXPECT_FALSE(is_robot("classification"));
}

TEST(Robots, say_which_recordings_they_take) {
  EXPECT_EQ(recording_place(find_robot("can"), "hdf5:a/b.hdf5"), "a/b.hdf5");
  for (const char* wrong : {"zarr:DIR", "hdf5:", "hdf5", "b.hdf5"}) {
    EXPECT_TRUE(mentions(error_of([&] { recording_place(find_robot("can"), wrong); }), "accepted is hdf5:FILE"));
  }
}

TEST(RobotWorlds, of_pusht_show_what_the_simulator_shows) {
  const auto world = open_world(find_robot("pusht"));
  PushT same;
  world->reset(100003);
  same.reset(100003);
  for (int t = 0; t < 20; ++t) {
    const Point target = same.state().block.position;
    const RobotStep step = world->step(std::vector<double>{target.x, target.y});
    EXPECT_EQ(step.reward, same.step(target).reward);
  }
  EXPECT_FALSE(same.scene().contacts.empty());
  const std::vector<ObservedValue> seen = world->observe(world->state());
  EXPECT_EQ(seen[0].numbers, (std::vector<double>{same.state().agent.x, same.state().agent.y}));
  EXPECT_EQ(seen[1].image, draw_image(same.scene()));
  EXPECT_EQ(world->frame(world->state()), draw_canvas(same.scene()));
}

/// The expert's actions in a policy's ten numbers lead to the expert's end.
TEST(RobotWorlds, of_arms_take_rotations_in_six_numbers) {
  if (!arms_are_built()) GTEST_SKIP() << "built without MuJoCo";
  const ArmTask& lift = find_arm_task("lift");
  const auto direct = open_arm_world(lift.scene(robosuite_assets()));
  const ArmEpisode episode = play_expert(*direct, lift, 4);
  const auto world = open_world(find_robot("lift"));
  world->reset(4);
  double best = 0;
  for (const ArmAction& a : episode.actions) {
    const SixNumbers turn = six_numbers_of(matrix_of(Vector3{a[3], a[4], a[5]}));
    std::vector<double> action{a[0], a[1], a[2]};
    action.insert(action.end(), turn.begin(), turn.end());
    action.push_back(a[6]);
    const RobotStep step = world->step(action);
    best = std::max(best, step.reward);
    EXPECT_EQ(step.done, step.reward > 0);
  }
  EXPECT_EQ(best, 1);
  const std::vector<ObservedValue> seen = world->observe(world->state());
  const RobotTask& task = find_policy("arm_small").task;
  ASSERT_EQ(seen.size(), task.observations.size());
  for (size_t i = 0; i < seen.size(); ++i) {
    const Observation& o = task.observations[i];
    EXPECT_EQ(seen[i].image.size(), o.is_image() ? size_t{84} * 84 * 3 : 0) << o.name;
    EXPECT_EQ(seen[i].numbers.size(), o.is_image() ? 0 : static_cast<size_t>(o.channels)) << o.name;
  }
}

TEST(RobotRecordings, of_arms_have_actions_of_ten_numbers) {
  if (!arms_are_built()) GTEST_SKIP() << "built without HDF5";
  const test::TemporaryDirectory folder;
  RobomimicEpisode e;
  e.length = 2;
  e.actions = {0.1, 0.2, 0.9, 0, 0, 1.5707963267948966, -1, 0.3, 0.4, 0.8, 0, 0, 0, 1};
  e.states.assign(2 * 32, 0);
  e.rewards = {0, 1};
  e.agentview.assign(size_t{2} * 84 * 84 * 3, 5);
  e.eye_in_hand.assign(size_t{2} * 84 * 84 * 3, 6);
  e.eef_pos.assign(6, 0.5);
  e.eef_quat.assign(8, 0.5);
  e.gripper.assign(4, 0.02);
  const auto writer = write_robomimic(folder / "demos.hdf5", "{}");
  writer->add(e);
  writer->add(e);
  writer->finish();
  const auto recording = open_recording(find_robot("lift"), "hdf5:" + (folder / "demos.hdf5").string());
  ASSERT_EQ(recording->episodes().size(), size_t{2});
  EXPECT_EQ(recording->episodes()[1].begin, 2);
  const std::vector<double> actions = recording->actions();
  ASSERT_EQ(actions.size(), size_t{40});
  const std::vector<double> first{0.1, 0.2, 0.9, 0, -1, 0, 1, 0, 0, -1}, second{0.3, 0.4, 0.8, 1, 0, 0, 0, 1, 0, 1};
  for (size_t k = 0; k < 10; ++k) {
    EXPECT_NEAR(actions[k], first[k], 1e-12) << k;
    EXPECT_NEAR(actions[10 + k], second[k], 1e-12) << k;
  }
  const RobotTask& task = find_policy("arm_small").task;
  EXPECT_EQ(recording->images(task.observations[3], recording->episodes()[1]), e.eye_in_hand);
  EXPECT_EQ(recording->numbers(task.observations[2]).size(), size_t{16});
}

}  // namespace
}  // namespace fib::robots
