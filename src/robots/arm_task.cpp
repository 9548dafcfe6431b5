// SPDX-License-Identifier: Apache-2.0
#include "robots/arm_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <stdexcept>

#include "base/nearest.h"

namespace fib::robots {
namespace {

/// Keep an expert's draws apart from other uses of a seed.
constexpr uint64_t kPlanDraws = 0x706c616e, kHandNoise = 0x68616e64;

constexpr double kTurn = 0.12;                    ///< radians per action
constexpr double kNear = 0.004, kAligned = 0.05;  ///< where a stage counts as arrived
constexpr int64_t kMostWaited = 60;               ///< actions before it goes on regardless
constexpr double kTremble = 0.0006;               ///< of a hand, in meters

/// At most `step` nearer to `to`.
Vector3 moved_towards(const Vector3& from, const Vector3& to, double step) {
  const double distance = length(to - from);
  return distance <= step ? to : from + (step / distance) * (to - from);
}

Matrix3 turned_towards(const Matrix3& from, const Matrix3& to, double step) {
  const Vector3 away = axis_angle_of(product(to, transposed(from)));
  const double angle = length(away);
  return angle <= step ? to : product(matrix_of((step / angle) * away), from);
}

ArmAction action_of(const Pose3& pose, double gripper) {
  const Vector3 turn = axis_angle_of(pose.rotation);
  return {pose.position[0], pose.position[1], pose.position[2], turn[0], turn[1], turn[2], gripper};
}

}  // namespace

JointValues drawn_joints(NumpyRandom& random) {
  using std::numbers::pi;
  JointValues joints{0, pi / 16, 0, -pi / 2 - pi / 3, 0, pi - 0.2, pi / 4};
  for (double& joint : joints) joint += 0.02 * random.normal();
  return joints;
}

Matrix3 downward(double yaw) { return product(turned(yaw), {0, 1, 0, 1, 0, 0, 0, 0, -1}); }

const std::vector<ArmTask>& arm_tasks() {
  static const std::vector<ArmTask> rows = {lift_task(), can_task()};
  return rows;
}

const ArmTask& find_arm_task(std::string_view name) {
  return find_named(arm_tasks(), "task of an arm", name, &ArmTask::name);
}

std::filesystem::path robosuite_assets() {
  const char* named = std::getenv("FIB_ROBOSUITE_ASSETS");
  if (named == nullptr || *named == 0) return {};
  const auto folder = std::filesystem::absolute(named);
  if (!std::filesystem::exists(folder / "robots/panda/meshes/link0.stl")) {
    throw std::runtime_error(
        fmt::format("FIB_ROBOSUITE_ASSETS is '{}', which has no robots/panda/meshes; accepted: robosuite's folder "
                    "models/assets, or nothing for a plain arm",
                    named));
  }
  return folder;
}

ArmExpert::ArmExpert(const ArmTask& task, uint32_t seed) : noise_(seed, {kHandNoise}) {
  CounterRng variation(seed, {kPlanDraws});
  plan_ = task.plan(variation);
}

void ArmExpert::begin_stage(const ArmState& state) {
  if (stage_ == 0) led_ = state.gripper;
  goal_ = plan_[stage_].goal(state);
  waited_ = held_ = 0;
  begun_ = true;
}

void ArmExpert::lead(double speed) {
  led_.position = moved_towards(led_.position, goal_.position, speed);
  led_.rotation = turned_towards(led_.rotation, goal_.rotation, kTurn);
}

ArmAction ArmExpert::act(const ArmState& state) {
  if (!begun_ && !finished()) begin_stage(state);
  const ExpertStage& stage = plan_[std::min(stage_, plan_.size() - 1)];
  lead(stage.speed);
  Pose3 asked = led_;
  for (double& p : asked.position) p += kTremble * standard_normal(noise_);
  const bool arrived = length(state.gripper.position - goal_.position) < kNear &&
                       angle_between(state.gripper.rotation, goal_.rotation) < kAligned;
  if (arrived || held_ > 0 || ++waited_ > kMostWaited) ++held_;
  if (!finished() && held_ > stage.hold) {
    ++stage_;
    begun_ = false;
  }
  return action_of(asked, stage.gripper);
}

ArmEpisode play_expert(ArmWorld& world, const ArmTask& task, uint32_t seed, int64_t after) {
  world.start(task.start(seed));
  ArmExpert expert(task, seed);
  ArmEpisode episode{.seed = seed, .actions = {}, .snapshots = {world.snapshot()}, .states = {}, .rewards = {}};
  int64_t left = after;
  for (int64_t t = 0; t < kArmMaxSteps && left > 0; ++t) {
    episode.states.push_back(world.recorded_state());
    episode.actions.push_back(expert.act(world.state()));
    world.step(episode.actions.back(), ArmActions::absolute);
    episode.snapshots.push_back(world.snapshot());
    episode.rewards.push_back(task.solved(world.state()) ? 1 : 0);
    if (episode.solved() || expert.finished()) --left;
  }
  return episode;
}

}  // namespace fib::robots
