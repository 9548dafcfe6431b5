// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

#include "robots/mujoco/model.h"
#include "robots/mujoco/renderer.h"

namespace fib::robots {
namespace {

/// What the published gripper moves by in each simulator step, of its way from −1 to 1.
constexpr double kGripperSpeed = 0.01;
constexpr double kFingersAtStart = 0.020833;

void check_finite(const ArmAction& action) {
  for (const double v : action)
    if (!std::isfinite(v)) throw std::invalid_argument(fmt::format("an action holds {}; accepted: finite numbers", v));
}

/// Compiled once for each scene, copied from then on.
ModelPtr physics_model(const ArmScene& scene) {
  static std::mutex mutex;
  static std::map<std::string, ModelPtr> compiled;
  const std::lock_guard lock(mutex);
  ModelPtr& kept = compiled[scene.physics];
  if (kept == nullptr) kept = compiled_model(scene.physics, scene.name);
  return ModelPtr(mj_copyModel(nullptr, kept.get()));
}

class MujocoWorld final : public ArmWorld {
 public:
  explicit MujocoWorld(const ArmScene& scene)
      : scene_(scene),
        model_(physics_model(scene)),
        data_(new_data(*model_)),
        controller_(*model_),
        grip_(id_of(*model_, mjOBJ_SITE, "grip")),
        object_(id_of(*model_, mjOBJ_BODY, "object")) {
    model_->opt.enableflags |= mjENBL_ENERGY;
  }

  void start(const ArmStart& start) override {
    mj_resetData(model_.get(), data_.get());
    resize_object(*model_, *data_, start.half_size);
    half_size_ = start.half_size;
    mj_resetData(model_.get(), data_.get());
    std::ranges::copy(start.joints, data_->qpos);
    data_->qpos[kArmJoints] = kFingersAtStart;
    data_->qpos[kArmJoints + 1] = -kFingersAtStart;
    mjtNum* object = data_->qpos + kArmJoints + 2;
    std::ranges::copy(start.object, object);
    std::ranges::copy(std::array{std::cos(start.yaw / 2), 0.0, 0.0, std::sin(start.yaw / 2)}, object + 3);
    gripper_ = 0;
    mj_forward(model_.get(), data_.get());
    controller_.begin(*data_);
  }

  void step(const ArmAction& action, ArmActions kind) override {
    check_finite(action);
    mj_step1(model_.get(), data_.get());
    controller_.set_goal(*data_, action, kind);
    for (int i = 0; i < kArmSubSteps; ++i) {
      if (i > 0) mj_step1(model_.get(), data_.get());
      std::ranges::copy(controller_.torques(*data_), data_->ctrl);
      move_gripper(action.back());
      mj_step2(model_.get(), data_.get());
    }
    if (data_->warning[mjWARN_BADQACC].number + data_->warning[mjWARN_BADQPOS].number > 0)
      throw std::runtime_error("the simulated arm has left what can be computed");
    mj_forward(model_.get(), data_.get());
  }

  ArmState state() const override {
    ArmState s;
    std::copy_n(data_->qpos, kArmJoints, s.joints.begin());
    std::copy_n(data_->qvel, kArmJoints, s.velocities.begin());
    s.fingers = {data_->qpos[kArmJoints], data_->qpos[kArmJoints + 1]};
    s.gripper = pose_of_site(*data_, grip_);
    s.object = pose_of_body(*data_, object_);
    return s;
  }

  ArmSnapshot snapshot() const override {
    ArmSnapshot all(data_->qpos, data_->qpos + model_->nq);
    all.insert(all.end(), half_size_.begin(), half_size_.end());
    return all;
  }

  std::vector<double> recorded_state() const override {
    std::vector<double> all{data_->time};
    all.insert(all.end(), data_->qpos, data_->qpos + model_->nq);
    all.insert(all.end(), data_->qvel, data_->qvel + model_->nv);
    return all;
  }

  double energy() const override { return data_->energy[0] + data_->energy[1]; }

  ArmObservation observe(const ArmSnapshot& snapshot) const override {
    const BorrowedRenderer renderer(scene_, kArmImageSize);
    renderer->show(snapshot);
    const mjData& data = renderer->data();
    ArmObservation seen;
    seen.eef_pos = pose_of_site(data, id_of(renderer->model(), mjOBJ_SITE, "grip")).position;
    const mjtNum* q = data.xquat + size_t{4} * static_cast<size_t>(id_of(renderer->model(), mjOBJ_BODY, "hand"));
    seen.eef_quat = {q[1], q[2], q[3], q[0]};
    seen.gripper_qpos = {snapshot[kArmJoints], snapshot[kArmJoints + 1]};
    seen.agentview = renderer->image(ArmCamera::agentview);
    seen.eye_in_hand = renderer->image(ArmCamera::eye_in_hand);
    return seen;
  }

  std::vector<uint8_t> image(const ArmSnapshot& snapshot, ArmCamera camera, int side) const override {
    const BorrowedRenderer renderer(scene_, side);
    renderer->show(snapshot);
    return renderer->image(camera);
  }

 private:
  /// −1 is open, 1 closed; the fingers' motors get the middle of their range at 0.
  void move_gripper(double action) {
    const double sign = action > 0 ? 1 : action < 0 ? -1 : 0;
    gripper_ = std::clamp(gripper_ + kGripperSpeed * sign, -1.0, 1.0);
    for (const auto& [motor, towards] : {std::pair{kArmJoints, -1.0}, {kArmJoints + 1, 1.0}}) {
      const mjtNum* range = model_->actuator_ctrlrange + 2 * motor;
      data_->ctrl[motor] = (range[0] + range[1]) / 2 + towards * gripper_ * (range[1] - range[0]) / 2;
    }
  }

  ArmScene scene_;
  ModelPtr model_;
  DataPtr data_;
  PoseController controller_;
  int grip_, object_;
  Vector3 half_size_{};
  double gripper_ = 0;
};

}  // namespace
}  // namespace fib::robots

extern "C" fib::robots::ArmWorld* fib_open_arm_world(const fib::robots::ArmScene& scene) {
  // Worlds run side by side; threads of the renderer's own would only stand in their way.
  setenv("LP_NUM_THREADS", "0", 0);
  return new fib::robots::MujocoWorld(scene);
}
