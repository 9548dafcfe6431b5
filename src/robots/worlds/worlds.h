// SPDX-License-Identifier: Apache-2.0
// The simulators and files behind robots/robot.h, one kind of robot in each file.
#pragma once

#include <filesystem>
#include <memory>

#include "robots/robot.h"

namespace fib::robots {

std::unique_ptr<RobotWorld> pusht_world(const Robot& robot);
std::unique_ptr<RobotRecording> pusht_recording(const std::filesystem::path& folder);

std::unique_ptr<RobotWorld> arm_world(const Robot& robot);
std::unique_ptr<RobotRecording> arm_recording(const std::filesystem::path& file);

}  // namespace fib::robots
