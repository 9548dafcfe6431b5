// SPDX-License-Identifier: Apache-2.0
#include "robots/mujoco/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>

namespace fib::robots {
namespace {

/// Numbers of each thing in an array of the simulator.
constexpr std::ptrdiff_t kVector = 3, kMatrix = 9;

constexpr double kWater = 1000;

std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

/// MuJoCo would write warnings into a file of the working directory; what they are about is asked after each step.
void ignore_warning(const char*) {}

/// It would wait for a key and end the program.
[[noreturn]] void throw_error(const char* message) {
  throw std::runtime_error(fmt::format("MuJoCo: {}", in_one_line(message)));
}

void add_file(mjVFS& files, const std::string& name, const std::string& bytes) {
  mj_makeEmptyFileVFS(&files, name.c_str(), static_cast<int>(bytes.size()));
  std::memcpy(files.filedata[mj_findFileVFS(&files, name.c_str())], bytes.data(), bytes.size());
}

Matrix3 matrix_at(const mjtNum* m) {
  Matrix3 matrix{};
  std::copy_n(m, matrix.size(), matrix.begin());
  return matrix;
}

}  // namespace

ModelPtr compiled_model(const std::string& text, const std::string& name,
                        const std::map<std::string, std::string>& files) {
  mju_user_warning = ignore_warning;
  mju_user_error = throw_error;
  const auto all = std::make_unique<mjVFS>();
  mj_defaultVFS(all.get());
  add_file(*all, "scene.xml", text);
  for (const auto& [file, bytes] : files) add_file(*all, file, bytes);
  char reason[500] = "";
  ModelPtr model(mj_loadXML("scene.xml", all.get(), reason, sizeof reason));
  mj_deleteVFS(all.get());
  if (model == nullptr) throw std::runtime_error(fmt::format("the scene of {}: {}", name, in_one_line(reason)));
  return model;
}

DataPtr new_data(const mjModel& model) { return DataPtr(mj_makeData(&model)); }

int id_of(const mjModel& model, mjtObj kind, const char* name) {
  const int id = mj_name2id(&model, kind, name);
  if (id < 0) throw std::runtime_error(fmt::format("the scene has no {}", name));
  return id;
}

void resize_object(mjModel& model, mjData& data, const Vector3& half_size) {
  const auto [a, b, c] = half_size;
  if (a <= 0) return;
  const int geom = id_of(model, mjOBJ_GEOM, "object"), body = id_of(model, mjOBJ_BODY, "object");
  std::ranges::copy(half_size, model.geom_size + kVector * geom);
  model.geom_rbound[geom] = length(half_size);
  const double mass = kWater * 8 * a * b * c;
  const Vector3 inertia = (mass / 3) * Vector3{b * b + c * c, a * a + c * c, a * a + b * b};
  model.body_mass[body] = mass;
  std::ranges::copy(inertia, model.body_inertia + kVector * body);
  mj_setConst(&model, &data);
}

Pose3 pose_of_site(const mjData& data, int site) {
  const mjtNum* p = data.site_xpos + kVector * site;
  return {{p[0], p[1], p[2]}, matrix_at(data.site_xmat + kMatrix * site)};
}

Pose3 pose_of_body(const mjData& data, int body) {
  const mjtNum* p = data.xpos + kVector * body;
  return {{p[0], p[1], p[2]}, matrix_at(data.xmat + kMatrix * body)};
}

}  // namespace fib::robots
