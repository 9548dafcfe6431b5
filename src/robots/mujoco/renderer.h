// SPDX-License-Identifier: Apache-2.0
// Images of a scene without a display: OSMesa draws them in memory.
#pragma once

#include <GL/osmesa.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "robots/mujoco/model.h"

namespace fib::robots {

class Renderer {
 public:
  /// Of images with this side.
  Renderer(const ArmScene& scene, int side);
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  /// To be called before the others, on the thread that calls them, and undone by leave().
  void enter();
  void leave();
  void show(const ArmSnapshot& snapshot);
  std::vector<uint8_t> image(ArmCamera camera);
  const mjModel& model() const { return *model_; }
  const mjData& data() const { return *data_; }

 private:
  int side_;
  ModelPtr model_;
  DataPtr data_;
  OSMesaContext gl_;
  std::vector<uint8_t> canvas_;
  mjvScene drawn_;
  mjvOption options_;
  mjrContext context_;
};

/// A renderer of the scene for one user at a time, on any thread. Meshes and textures are worth keeping: a renderer is
/// made when all others are in use, and given to the next one afterwards.
class BorrowedRenderer {
 public:
  BorrowedRenderer(const ArmScene& scene, int side);
  ~BorrowedRenderer();
  BorrowedRenderer(const BorrowedRenderer&) = delete;
  BorrowedRenderer& operator=(const BorrowedRenderer&) = delete;
  Renderer* operator->() const { return renderer_.get(); }

 private:
  std::vector<std::unique_ptr<Renderer>>& idle_;
  std::shared_lock<std::shared_mutex> drawing_;
  std::unique_ptr<Renderer> renderer_;
};

}  // namespace fib::robots
