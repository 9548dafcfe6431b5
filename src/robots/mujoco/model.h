// SPDX-License-Identifier: Apache-2.0
// MuJoCo's model of an arm, its meshes and its controller.
#pragma once

#include <mujoco/mujoco.h>

#include <map>
#include <memory>
#include <string>

#include "robots/arm.h"

namespace fib::robots {

// ---- MuJoCo's objects with owners

struct FreeMujoco {
  void operator()(mjModel* model) const { mj_deleteModel(model); }
  void operator()(mjData* data) const { mj_deleteData(data); }
};
using ModelPtr = std::unique_ptr<mjModel, FreeMujoco>;
using DataPtr = std::unique_ptr<mjData, FreeMujoco>;

/// Throws std::runtime_error with MuJoCo's reason in one line. Of files that are named here the text finds these bytes.
ModelPtr compiled_model(const std::string& text, const std::string& name,
                        const std::map<std::string, std::string>& files = {});

DataPtr new_data(const mjModel& model);
/// Throws std::runtime_error where the model has none of this name.
int id_of(const mjModel& model, mjtObj kind, const char* name);

/// The box that is handled takes this size, with the mass of water's density; zero leaves it as it is.
void resize_object(mjModel& model, mjData& data, const Vector3& half_size);

Pose3 pose_of_site(const mjData& data, int site);
Pose3 pose_of_body(const mjData& data, int body);

// ---- Meshes for small images: robosuite's have a hundred thousand triangles in all, a camera of 84 pixels sees a
// centimeter of the arm as one of them

/// A binary STL file's triangles with their corners drawn together into cells of this side; those that vanish are left
/// out. Throws std::runtime_error, naming the file, for anything else.
std::string coarse_stl(const std::string& file, double cell);

// ---- Operational-space control (Khatib 1987) as robosuite's OSC_POSE: position and turn of the gripper are springs
// with critical damping, each in its own inertia; what freedom is left pulls the joints to their first posture

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
