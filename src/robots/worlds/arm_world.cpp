// SPDX-License-Identifier: Apache-2.0
// An arm as policies see it: actions are a position, six numbers of a rotation and the gripper.
#include <algorithm>

#include "robots/arm_task.h"
#include "robots/robot.h"

namespace fib::robots {
namespace {

constexpr size_t kRecordedAction = 7, kPolicyAction = 10;
constexpr int kFrameSide = 256;

ArmAction arm_action(std::span<const double> a) {
  const Vector3 turn = axis_angle_of(matrix_of(SixNumbers{a[3], a[4], a[5], a[6], a[7], a[8]}));
  return {a[0], a[1], a[2], turn[0], turn[1], turn[2], a[9]};
}

void append_policy_action(std::vector<double>& to, std::span<const double> a) {
  const SixNumbers turn = six_numbers_of(matrix_of(Vector3{a[3], a[4], a[5]}));
  to.insert(to.end(), a.begin(), a.begin() + 3);
  to.insert(to.end(), turn.begin(), turn.end());
  to.push_back(a[6]);
}

template <class Values>
ObservedValue as_numbers(const Values& values) {
  return {{values.begin(), values.end()}, {}};
}

class ArmRobotWorld final : public RobotWorld {
 public:
  explicit ArmRobotWorld(const ArmTask& task) : task_(task), world_(open_arm_world(task.scene(robosuite_assets()))) {}

  void reset(uint32_t seed) override { world_->start(task_.start(seed)); }
  /// The published environment goes on after success, which changes no score.
  RobotStep step(std::span<const double> action) override {
    world_->step(arm_action(action), ArmActions::absolute);
    const bool solved = task_.solved(world_->state());
    return {solved ? 1.0 : 0.0, solved};
  }
  WorldState state() const override { return world_->snapshot(); }
  std::vector<ObservedValue> observe(const WorldState& state) const override {
    ArmObservation s = world_->observe(state);
    return {{{}, std::move(s.agentview)},
            as_numbers(s.eef_pos),
            as_numbers(s.eef_quat),
            {{}, std::move(s.eye_in_hand)},
            as_numbers(s.gripper_qpos)};
  }
  std::vector<uint8_t> frame(const WorldState& state) const override {
    return world_->image(state, ArmCamera::agentview, kFrameSide);
  }

 private:
  const ArmTask& task_;
  std::unique_ptr<ArmWorld> world_;
};

class ArmRecording final : public RobotRecording {
 public:
  explicit ArmRecording(const std::filesystem::path& file) : file_(read_robomimic(file)) {
    int64_t begin = 0;
    for (const int64_t length : file_->lengths()) {
      episodes_.push_back({begin, begin + length});
      begin += length;
    }
  }

  const std::vector<Episode>& episodes() const override { return episodes_; }
  std::vector<double> actions() const override {
    const std::vector<double> recorded = whole("actions", kRecordedAction);
    std::vector<double> all;
    all.reserve(recorded.size() / kRecordedAction * kPolicyAction);
    for (size_t i = 0; i < recorded.size(); i += kRecordedAction)
      append_policy_action(all, std::span(recorded).subspan(i, kRecordedAction));
    return all;
  }
  std::vector<double> numbers(const Observation& o) const override { return whole("obs/" + o.name, o.channels); }
  std::vector<uint8_t> images(const Observation& o, const Episode& episode) const override {
    const auto at = std::ranges::find(episodes_, episode.begin, &Episode::begin);
    return file_->images(static_cast<size_t>(at - episodes_.begin()), "obs/" + o.name, kArmImageSize);
  }

 private:
  std::vector<double> whole(const std::string& key, int64_t columns) const {
    std::vector<double> all;
    for (size_t e = 0; e < episodes_.size(); ++e) {
      const std::vector<double> part = file_->numbers(e, key, columns);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  std::unique_ptr<RobomimicReader> file_;
  std::vector<Episode> episodes_;
};

}  // namespace

std::unique_ptr<RobotWorld> arm_world(const Robot& robot) {
  return std::make_unique<ArmRobotWorld>(find_arm_task(robot.name));
}

std::unique_ptr<RobotRecording> arm_recording(const std::filesystem::path& file) {
  return std::make_unique<ArmRecording>(file);
}

}  // namespace fib::robots
