// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "robots/robot.h"

namespace fib::robots {
namespace {

/// How the policies of one RobotTask meet their worlds.
struct Kind {
  const char* policy_task;
  std::unique_ptr<RobotWorld> (*world)(const Robot& robot);
  std::unique_ptr<RobotRecording> (*recording)(const std::filesystem::path& place);
};

constexpr Kind kKinds[] = {{"pusht", pusht_world, pusht_recording}, {"arm", arm_world, arm_recording}};

const Kind& kind_of(const Robot& robot) {
  return *std::ranges::find_if(kKinds, [&](const Kind& kind) { return robot.policy_task == kind.policy_task; });
}

}  // namespace

std::unique_ptr<RobotWorld> open_world(const Robot& robot) { return kind_of(robot).world(robot); }

std::unique_ptr<RobotRecording> open_recording(const Robot& robot, const std::string& source) {
  return kind_of(robot).recording(recording_place(robot, source));
}

}  // namespace fib::robots
