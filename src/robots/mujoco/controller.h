// SPDX-License-Identifier: Apache-2.0
// Operational-space control (Khatib 1987) as robosuite's OSC_POSE: position and turn of the gripper are springs with
// critical damping, each in its own inertia; what freedom is left pulls the joints to their first posture.
#pragma once

#include <mujoco/mujoco.h>

#include "robots/arm.h"

namespace fib::robots {

class PoseController {
 public:
  /// The arm's joints are the model's first seven, as are its motors.
  explicit PoseController(const mjModel& model);

  /// The posture to return to is that of `data`, whose gripper is where it should be.
  void begin(const mjData& data);
  void set_goal(const mjData& data, const ArmAction& action, ArmActions kind);
  /// Torques of the seven motors, within their limits; `data` knows positions and velocities.
  JointValues torques(const mjData& data) const;

 private:
  double kept_from_limits(double wanted, size_t joint, const mjData& data, double inertia) const;

  const mjModel& model_;
  int grip_;
  Pose3 goal_;
  JointValues posture_{};
};

}  // namespace fib::robots
