// SPDX-License-Identifier: Apache-2.0
// A Panda arm and what it handles, on MuJoCo. The simulator and its renderer are a library of its own that is loaded
// with the first world: they would slow down every start of the program, and are optional when it is built.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "robots/rotation.h"

namespace fib::robots {

inline constexpr size_t kArmJoints = 7;
inline constexpr int kArmImageSize = 84;
/// Actions per second, and the simulator's steps for each.
inline constexpr int kArmHertz = 20, kArmSubSteps = 25;

/// Where to (three numbers), turned how (axis times angle), and the gripper: it closes above 0 and opens below.
using ArmAction = std::array<double, 7>;
/// A delta is of [−1, 1]: 5 cm and half a radian from where the gripper is.
enum class ArmActions { absolute, delta };

using JointValues = std::array<double, kArmJoints>;

/// Everything at rest.
struct ArmStart {
  JointValues joints{};
  Vector3 object{};     ///< its middle
  double yaw = 0;       ///< about the vertical axis
  Vector3 half_size{};  ///< of a box; zero where the scene's own size stays
};

struct ArmState {
  JointValues joints{}, velocities{};
  std::array<double, 2> fingers{};  ///< 0 to 0.04 and −0.04 to 0: open far from 0
  Pose3 gripper;                    ///< between the fingertips; the hand looks along its third axis
  Pose3 object;
};

/// What can be drawn: joints, fingers, the object's place and size.
using ArmSnapshot = std::vector<double>;

enum class ArmCamera { agentview, eye_in_hand };

/// What a recording has of one time.
struct ArmObservation {
  std::vector<uint8_t> agentview, eye_in_hand;  ///< [84, 84, 3], the upper row first
  Vector3 eef_pos{};
  Quaternion eef_quat{};
  std::array<double, 2> gripper_qpos{};
};

class ArmWorld {
 public:
  virtual ~ArmWorld() = default;

  virtual void start(const ArmStart& start) = 0;
  /// A twentieth of a second. Throws std::invalid_argument for an action that is not finite, std::runtime_error where
  /// the simulation has left what it can compute.
  virtual void step(const ArmAction& action, ArmActions kind) = 0;
  virtual ArmState state() const = 0;
  virtual ArmSnapshot snapshot() const = 0;
  /// Time, positions and velocities of everything that moves, as recordings have it.
  virtual std::vector<double> recorded_state() const = 0;
  /// Of motion and height, in joules.
  virtual double energy() const = 0;

  virtual ArmObservation observe(const ArmSnapshot& snapshot) const = 0;
  /// [side, side, 3].
  virtual std::vector<uint8_t> image(const ArmSnapshot& snapshot, ArmCamera camera, int side) const = 0;
};

/// Two models in MuJoCo's format with the same joints: what is computed with, and what is looked at.
struct ArmScene {
  std::string name, physics, visual;
  std::vector<std::string> fine_meshes = {};  ///< files of the visual one that small images need not have whole
};

/// Throws std::runtime_error: the simulator was not built, or does not understand the scene.
std::unique_ptr<ArmWorld> open_arm_world(const ArmScene& scene);

}  // namespace fib::robots
