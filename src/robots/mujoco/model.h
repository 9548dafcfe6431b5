// SPDX-License-Identifier: Apache-2.0
// MuJoCo's objects with owners.
#pragma once

#include <mujoco/mujoco.h>

#include <map>
#include <memory>
#include <string>

#include "robots/arm.h"

namespace fib::robots {

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

}  // namespace fib::robots
