// SPDX-License-Identifier: Apache-2.0
// Lift: a cube lies somewhere on the middle of a table, and is to be lifted by 4 cm.
#include <cmath>
#include <numbers>

#include "robots/arm_scene.h"
#include "robots/arm_task.h"
#include "robots/numpy_random.h"

namespace fib::robots {
namespace {

constexpr double kTableTop = 0.8, kLifted = 0.04;
constexpr double kReach = 0.03;                  ///< of the cube's middle from the table's, along x and y
constexpr double kDropHeight = 0.01;             ///< of the cube above the table when an episode begins
constexpr double kLeast = 0.020, kMost = 0.022;  ///< half the cube's sides

/// Keeps the cube's size apart from other uses of a seed.
constexpr uint64_t kCubeSize = 0x63756265;

std::string table(SceneText& text) {
  std::string parts = "<body pos=\"0 0 0.775\">\n" +
                      text.solid(R"(type="box" size="0.4 0.4 0.025")", kCeramic, R"(friction="1 0.005 0.0001")");
  for (const char* place : {"0.3 0.3", "-0.3 0.3", "-0.3 -0.3", "0.3 -0.3"}) {
    parts += text.decor(std::string(R"(type="cylinder" size="0.025 0.3875" pos=")") + place + R"( -0.3875")", kSteel);
  }
  return parts + "</body>\n";
}

SceneText lift_model(const std::filesystem::path& assets, SceneText::Purpose purpose) {
  SceneText text(assets, purpose);
  text.add_room();
  text.add_agentview({0.5, 0, 1.35});
  text.add(table(text));
  text.add_panda({-0.56, 0, 0});
  text.add("<body name=\"object\" pos=\"0 0 0.84\">\n<freejoint/>\n" +
           text.solid(R"(name="object" type="box" size="0.021 0.021 0.021")", kRedWood,
                      R"(density="1000" friction="1 0.005 0.0001")") +
           "</body>\n");
  return text;
}

ArmScene lift_scene(const std::filesystem::path& assets) {
  return scene_of("lift", lift_model(assets, SceneText::Purpose::physics),
                  lift_model(assets, SceneText::Purpose::visual));
}

/// The published environment draws the cube's size when it is made, from no seed of the episode's.
ArmStart lift_start(uint32_t seed) {
  NumpyRandom random(seed);
  ArmStart start{.joints = drawn_joints(random), .object = {}, .yaw = 0, .half_size = {}};
  CounterRng size(seed, {kCubeSize});
  for (double& half : start.half_size) half = uniform_between(size, kLeast, kMost);
  start.object[0] = drawn_between(random, -kReach, kReach);
  start.object[1] = drawn_between(random, -kReach, kReach);
  start.object[2] = kTableTop + kDropHeight + start.half_size[2];
  start.yaw = drawn_between(random, 0, 2 * std::numbers::pi);
  return start;
}

bool lift_solved(const ArmState& state) { return state.object.position[2] > kTableTop + kLifted; }

/// Of the cube's four sides the one that needs the least turning.
double grasp_yaw(const Matrix3& cube) { return std::remainder(std::atan2(cube[3], cube[0]), std::numbers::pi / 2); }

std::vector<ExpertStage> lift_plan(CounterRng& variation) {
  const auto drawn = [&](double low, double high) { return uniform_between(variation, low, high); };
  const double hover = drawn(0.06, 0.12), depth = drawn(-0.006, 0.008), tilt = drawn(-0.1, 0.1);
  const Vector3 aside{drawn(-0.015, 0.015), drawn(-0.015, 0.015), 0};
  const auto above = [=](const ArmState& s, const Vector3& by) {
    return Pose3{s.object.position + by, downward(grasp_yaw(s.object.rotation) + tilt)};
  };
  const double fast = drawn(0.018, 0.03), slow = drawn(0.010, 0.018), raised = drawn(0.09, 0.14);
  return {
      {[=](const ArmState& s) {
         return above(s, aside + Vector3{0, 0, hover});
       },
       -1, fast, 0},
      {[=](const ArmState& s) {
         return above(s, {0, 0, depth});
       },
       -1, slow, 1},
      {[](const ArmState& s) { return s.gripper; }, 1, slow, integer_between(variation, 5, 8)},
      {[=](const ArmState& s) {
         return Pose3{s.gripper.position + Vector3{0, 0, raised}, s.gripper.rotation};
       },
       1, fast, 3},
  };
}

}  // namespace

ArmTask lift_task() { return {"lift", "an arm lifts a cube", "Lift", lift_scene, lift_start, lift_solved, lift_plan}; }

}  // namespace fib::robots
