// SPDX-License-Identifier: Apache-2.0
#include "robots/mujoco/renderer.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <stdexcept>

#include "robots/mujoco/model.h"

namespace fib::robots {
namespace {

constexpr int kMaxGeoms = 300;

const char* camera_name(ArmCamera camera) { return camera == ArmCamera::agentview ? "agentview" : "eye_in_hand"; }

std::mutex& pool_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Making a renderer loads OpenGL's functions, which all renderers share: none may draw meanwhile.
std::shared_mutex& gl_mutex() {
  static std::shared_mutex mutex;
  return mutex;
}

/// MuJoCo asks the whole program for OpenGL and takes what it finds first; a library that OpenCV brings has one for
/// displays.
void make_osmesa_known() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<void*>(&OSMesaGetProcAddress), &found) != 0)
    dlopen(found.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/// Never destroyed: OSMesa's own library may be gone when the program ends.
std::vector<std::unique_ptr<Renderer>>& idle_renderers(const ArmScene& scene, int side) {
  static auto* const all = new std::map<std::pair<std::string, int>, std::vector<std::unique_ptr<Renderer>>>();
  const std::lock_guard lock(pool_mutex());
  return (*all)[{scene.visual, side}];
}

/// Images up to this side are of coarse meshes, with corners this many meters apart, and one sample for a pixel: they
/// are drawn for every action.
constexpr int kSmallSide = 128;
constexpr double kCoarseCell = 0.01;

ModelPtr visual_model(const ArmScene& scene, int side) {
  std::map<std::string, std::string> coarse;
  if (side <= kSmallSide) {
    for (const std::string& file : scene.fine_meshes)
      coarse[std::filesystem::path(file).filename()] = coarse_stl(file, kCoarseCell);
  }
  return compiled_model(scene.visual, scene.name, coarse);
}

/// A sphere around the geom lies beside, above, below or behind what the camera sees. Meshes cost as much when they
/// are out of view.
bool is_unseen(const mjvGeom& geom, double radius, const mjvGLCamera& camera) {
  const Vector3 eye{camera.pos[0], camera.pos[1], camera.pos[2]};
  const Vector3 forward{camera.forward[0], camera.forward[1], camera.forward[2]};
  const Vector3 up{camera.up[0], camera.up[1], camera.up[2]}, right = cross(forward, up);
  const Vector3 to = Vector3{geom.pos[0], geom.pos[1], geom.pos[2]} - eye;
  const double depth = dot(to, forward);
  const double slope = camera.frustum_top / camera.frustum_near;  // square images: the same to all sides
  const double widened = radius * std::sqrt(1 + slope * slope);
  return depth < -radius || std::abs(dot(to, up)) > slope * depth + widened ||
         std::abs(dot(to, right)) > slope * depth + widened;
}

void drop_unseen(mjvScene& scene, const mjModel& model) {
  mjvGeom* const end = std::remove_if(scene.geoms, scene.geoms + scene.ngeom, [&](const mjvGeom& geom) {
    if (geom.objtype != mjOBJ_GEOM || model.geom_type[geom.objid] == mjGEOM_PLANE) return false;
    return is_unseen(geom, model.geom_rbound[geom.objid], scene.camera[0]);
  });
  scene.ngeom = static_cast<int>(end - scene.geoms);
}

}  // namespace

Renderer::Renderer(const ArmScene& scene, int side)
    : side_(side),
      model_(visual_model(scene, side)),
      data_(new_data(*model_)),
      gl_(OSMesaCreateContextExt(GL_RGBA, 24, 8, 0, nullptr)),
      canvas_(size_t{4} * static_cast<size_t>(side) * static_cast<size_t>(side)) {
  if (gl_ == nullptr) throw std::runtime_error("OSMesa makes no context to draw in");
  make_osmesa_known();
  model_->vis.global.offwidth = model_->vis.global.offheight = side;
  if (side <= kSmallSide) model_->vis.quality.offsamples = 0;
  mjv_defaultScene(&drawn_);
  mjv_defaultOption(&options_);
  mjr_defaultContext(&context_);
  std::fill_n(options_.sitegroup, mjNGROUP, 0);
  enter();
  mjv_makeScene(model_.get(), &drawn_, kMaxGeoms);
  mjr_makeContext(model_.get(), &context_, mjFONTSCALE_50);
  mjr_setBuffer(mjFB_OFFSCREEN, &context_);
  drawn_.flags[mjRND_SHADOW] = 0;  // no light casts any
  leave();
}

Renderer::~Renderer() {
  enter();
  mjr_freeContext(&context_);
  mjv_freeScene(&drawn_);
  leave();
  OSMesaDestroyContext(gl_);
}

void Renderer::enter() {
  if (!OSMesaMakeCurrent(gl_, canvas_.data(), GL_UNSIGNED_BYTE, side_, side_))
    throw std::runtime_error("OSMesa cannot draw on this thread");
}

void Renderer::leave() { OSMesaMakeCurrent(nullptr, nullptr, 0, 0, 0); }

void Renderer::show(const ArmSnapshot& snapshot) {
  const auto positions = static_cast<size_t>(model_->nq);
  resize_object(*model_, *data_, {snapshot[positions], snapshot[positions + 1], snapshot[positions + 2]});
  std::copy_n(snapshot.begin(), positions, data_->qpos);
  mj_kinematics(model_.get(), data_.get());
  mj_comPos(model_.get(), data_.get());
  mj_camlight(model_.get(), data_.get());
}

std::vector<uint8_t> Renderer::image(ArmCamera camera) {
  mjvCamera view;
  mjv_defaultCamera(&view);
  view.type = mjCAMERA_FIXED;
  view.fixedcamid = id_of(*model_, mjOBJ_CAMERA, camera_name(camera));
  mjv_updateScene(model_.get(), data_.get(), &options_, nullptr, &view, mjCAT_ALL, &drawn_);
  drop_unseen(drawn_, *model_);
  const mjrRect whole{0, 0, side_, side_};
  mjr_render(whole, &drawn_, &context_);
  const size_t row = static_cast<size_t>(side_) * 3;
  std::vector<uint8_t> from_below(row * static_cast<size_t>(side_)), rgb;
  mjr_readPixels(from_below.data(), nullptr, whole, &context_);
  rgb.reserve(from_below.size());
  for (auto at = from_below.end(); at != from_below.begin(); at -= static_cast<std::ptrdiff_t>(row))
    rgb.insert(rgb.end(), at - static_cast<std::ptrdiff_t>(row), at);
  return rgb;
}

BorrowedRenderer::BorrowedRenderer(const ArmScene& scene, int side) : idle_(idle_renderers(scene, side)) {
  {
    const std::lock_guard lock(pool_mutex());
    if (!idle_.empty()) {
      renderer_ = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (renderer_ == nullptr) {
    const std::unique_lock making(gl_mutex());
    renderer_ = std::make_unique<Renderer>(scene, side);
  }
  drawing_ = std::shared_lock(gl_mutex());
  renderer_->enter();
}

BorrowedRenderer::~BorrowedRenderer() {
  renderer_->leave();
  const std::lock_guard lock(pool_mutex());
  idle_.push_back(std::move(renderer_));
}

}  // namespace fib::robots
