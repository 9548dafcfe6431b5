// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "robots/mujoco/model.h"
#include "robots/mujoco/small_matrix.h"

namespace fib::robots {
namespace {

constexpr double kStiffness = 150, kPostureStiffness = 10;
constexpr double kLimitMargin = 0.03, kLimitFrequency = 40;  ///< radians, and radians per second
constexpr double kBrakingShare = 0.4;                        ///< of a motor's strength, to count on
constexpr double kDeltaMeters = 0.05, kDeltaRadians = 0.5;

double critical_damping(double stiffness) { return 2 * std::sqrt(stiffness); }

using small::Matrix;
using small::pseudo_inverse;
using Column = Matrix<kArmJoints, 1>;
using Jacobian = Matrix<6, kArmJoints>;
using MassMatrix = Matrix<kArmJoints, kArmJoints>;

Jacobian jacobian_of(const mjModel& model, const mjData& data, int site) {
  const auto columns = static_cast<size_t>(model.nv);
  std::vector<mjtNum> all(6 * columns);
  mj_jacSite(&model, &data, all.data(), all.data() + 3 * columns, site);
  Jacobian arm;
  for (size_t i = 0; i < 6; ++i)
    for (size_t j = 0; j < kArmJoints; ++j) arm.at(i, j) = all[i * columns + j];
  return arm;
}

MassMatrix mass_of(const mjModel& model, const mjData& data) {
  const auto columns = static_cast<size_t>(model.nv);
  std::vector<mjtNum> all(columns * columns);
  mj_fullM(&model, all.data(), data.qM);
  MassMatrix arm;
  for (size_t i = 0; i < kArmJoints; ++i)
    for (size_t j = 0; j < kArmJoints; ++j) arm.at(i, j) = all[i * columns + j];
  return arm;
}

/// Half the sum of the axes' cross products: its length is the sine of the angle.
Vector3 turning_error(const Matrix3& goal, const Matrix3& now) {
  Vector3 sum{};
  for (size_t k = 0; k < 3; ++k)
    sum = sum + cross({now[k], now[3 + k], now[6 + k]}, {goal[k], goal[3 + k], goal[6 + k]});
  return 0.5 * sum;
}

/// Spring and damper of three directions, in their inertia.
Matrix<3, 1> force_of(const Vector3& error, const double* velocity, const Matrix<3, 3>& inertia) {
  Matrix<3, 1> wanted;
  for (size_t i = 0; i < 3; ++i) wanted.at(i, 0) = kStiffness * error[i] - critical_damping(kStiffness) * velocity[i];
  return inertia * wanted;
}

template <size_t From>
Matrix<3, kArmJoints> three_rows(const Jacobian& j) {
  Matrix<3, kArmJoints> part;
  std::copy_n(j.values.begin() + From * kArmJoints, part.values.size(), part.values.begin());
  return part;
}

}  // namespace

PoseController::PoseController(const mjModel& model) : model_(model), grip_(id_of(model, mjOBJ_SITE, "grip")) {}

void PoseController::begin(const mjData& data) {
  goal_ = pose_of_site(data, grip_);
  std::copy_n(data.qpos, kArmJoints, posture_.begin());
}

void PoseController::set_goal(const mjData& data, const ArmAction& a, ArmActions kind) {
  const Vector3 position{a[0], a[1], a[2]}, turn{a[3], a[4], a[5]};
  if (kind == ArmActions::absolute) {
    goal_ = {position, matrix_of(turn)};
    return;
  }
  const auto within = [](Vector3 v) {
    for (double& x : v) x = std::clamp(x, -1.0, 1.0);
    return v;
  };
  const Pose3 now = pose_of_site(data, grip_);
  goal_.position = now.position + kDeltaMeters * within(position);
  // A delta that does not turn keeps the goal, so that the gripper does not sink away from it.
  if (length(turn) > 0) goal_.rotation = product(matrix_of(kDeltaRadians * within(turn)), now.rotation);
}

/// The simulator's own limits give way to the strength of a motor. Whatever would press on is replaced shortly before
/// them by a stiff, damped spring, and farther away by braking where the joint could no longer stop.
double PoseController::kept_from_limits(double wanted, size_t joint, const mjData& data, double inertia) const {
  const mjtNum* range = model_.jnt_range + 2 * joint;
  const double strongest = model_.actuator_ctrlrange[2 * joint + 1];
  const double q = data.qpos[joint], v = data.qvel[joint], bias = data.qfrc_bias[joint];
  const double stop = q + v * std::abs(v) * inertia / (2 * kBrakingShare * strongest);
  const double stiffness = inertia * kLimitFrequency * kLimitFrequency, damping = 2 * inertia * kLimitFrequency;
  const double low = range[0] + kLimitMargin, high = range[1] - kLimitMargin;
  if (q > high) return std::min(wanted, bias - stiffness * (q - high) - damping * v);
  if (q < low) return std::max(wanted, bias - stiffness * (q - low) - damping * v);
  if (stop > high) return std::min(wanted, bias - strongest);
  if (stop < low) return std::max(wanted, bias + strongest);
  return wanted;
}

JointValues PoseController::torques(const mjData& data) const {
  const Jacobian j = jacobian_of(model_, data, grip_);
  const MassMatrix mass = mass_of(model_, data), inverse_mass = pseudo_inverse(mass);
  Column velocity, posture;
  std::copy_n(data.qvel, kArmJoints, velocity.values.begin());
  const Matrix<6, 1> moving = j * velocity;
  const Pose3 now = pose_of_site(data, grip_);

  const Matrix<3, kArmJoints> j_position = three_rows<0>(j), j_turn = three_rows<3>(j);
  const auto inertia = [&](const auto& part) { return pseudo_inverse(part * inverse_mass * transpose(part)); };
  const auto force = force_of(goal_.position - now.position, moving.values.data(), inertia(j_position));
  const auto moment = force_of(turning_error(goal_.rotation, now.rotation), moving.values.data() + 3, inertia(j_turn));
  Matrix<6, 1> wrench;
  std::copy_n(force.values.begin(), 3, wrench.values.begin());
  std::copy_n(moment.values.begin(), 3, wrench.values.begin() + 3);
  const Column task = transpose(j) * wrench;

  // What of a pull to the posture does not move the gripper: (I − J̄ J)ᵀ M a.
  for (size_t i = 0; i < kArmJoints; ++i) {
    posture.at(i, 0) =
        kPostureStiffness * (posture_[i] - data.qpos[i]) - critical_damping(kPostureStiffness) * velocity.at(i, 0);
  }
  const Column pull = mass * posture;
  const Matrix<6, kArmJoints> dynamic = inertia(j) * j * inverse_mass;  // J̄ᵀ
  const Column visible = transpose(j) * (dynamic * pull);

  JointValues torques{};
  for (size_t i = 0; i < kArmJoints; ++i) {
    double wanted = task.at(i, 0) + pull.at(i, 0) - visible.at(i, 0) + data.qfrc_bias[i];
    wanted = kept_from_limits(wanted, i, data, mass.at(i, i));
    const mjtNum* range = model_.actuator_ctrlrange + 2 * i;
    torques[i] = std::clamp(wanted, range[0], range[1]);
  }
  return torques;
}

}  // namespace fib::robots
