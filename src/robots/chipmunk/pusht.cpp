// SPDX-License-Identifier: Apache-2.0
#include "robots/pusht.h"

#include <chipmunk/chipmunk.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <stdexcept>

#include "base/parallel.h"
#include "robots/numpy_random.h"

namespace fib::robots {
namespace {

constexpr double kTimeStep = 0.01;
constexpr int kSubSteps = 10;
constexpr double kStiffness = 100, kDamping = 20;  ///< of the agent's way to its target

cpVect vector_of(Point p) { return cpv(p.x, p.y); }
Point point_of(cpVect v) { return {v.x, v.y}; }

std::array<cpVect, 4> vectors_of(const Rectangle& r) {
  return {vector_of(r[0]), vector_of(r[1]), vector_of(r[2]), vector_of(r[3])};
}

/// The published environment adds the bar's moment twice, about the body's origin: 2 · 1500.
double tee_moment() {
  const auto bar = vectors_of(kTee[0]);
  return 2 * cpMomentForPoly(1, 4, bar.data(), cpvzero, 0);
}

/// Debian's Chipmunk greets on standard output when it makes its first space; that is not the place for it.
void swallow_greeting() {
  std::FILE* const real = stdout;
  std::FILE* const nowhere = std::fopen("/dev/null", "w");
  if (nowhere == nullptr) return;
  stdout = nowhere;
  cpSpaceFree(cpSpaceNew());
  stdout = real;
  std::fclose(nowhere);
}

cpSpace* new_space() {
  static std::once_flag greeted;
  std::call_once(greeted, swallow_greeting);
  return cpSpaceNew();
}

/// A mark runs along the normal, two pixels beyond the points that touch.
void add_contacts(cpBody*, cpArbiter* arbiter, void* contacts) {
  const cpContactPointSet set = cpArbiterGetContactPointSet(arbiter);
  const cpVect beyond = cpvmult(set.normal, 2);
  for (int i = 0; i < set.count; ++i) {
    static_cast<std::vector<Contact>*>(contacts)->push_back(
        {point_of(cpvsub(set.points[i].pointA, beyond)), point_of(cpvadd(set.points[i].pointB, beyond))});
  }
}

void check_target(Point target) {
  const auto inside = [](double v) { return v >= 0 && v <= kFieldSize; };  // false for NaN
  if (inside(target.x) && inside(target.y)) return;
  throw std::invalid_argument(
      fmt::format("action ({}, {}) is outside the field; accepted: 0 to {} each", target.x, target.y, kFieldSize));
}

}  // namespace

/// Members are destroyed in reverse: shapes and bodies leave the space's memory before the space goes.
struct PushT::World {
  struct Free {
    void operator()(cpSpace* p) const { cpSpaceFree(p); }
    void operator()(cpBody* p) const { cpBodyFree(p); }
    void operator()(cpShape* p) const { cpShapeFree(p); }
  };
  std::unique_ptr<cpSpace, Free> space{new_space()};
  std::unique_ptr<cpBody, Free> agent{cpBodyNewKinematic()};
  std::unique_ptr<cpBody, Free> block{cpBodyNew(1, tee_moment())};
  std::vector<std::unique_ptr<cpShape, Free>> shapes;

  World() {
    // No damping means here: what is not pushed stops at once.
    cpSpaceSetDamping(space.get(), 0);
    add_walls();
    cpSpaceAddBody(space.get(), agent.get());
    add(cpCircleShapeNew(agent.get(), kAgentRadius, cpvzero));
    cpSpaceAddBody(space.get(), block.get());
    for (const Rectangle& rectangle : kTee) {
      const auto corners = vectors_of(rectangle);
      add(cpPolyShapeNewRaw(block.get(), 4, corners.data(), 0));
    }
    cpBodySetCenterOfGravity(block.get(), vector_of(kTeeGravity));
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    for (const auto& shape : shapes) cpSpaceRemoveShape(space.get(), shape.get());
    cpSpaceRemoveBody(space.get(), agent.get());
    cpSpaceRemoveBody(space.get(), block.get());
  }

  /// Chipmunk numbers shapes as they come, and solves contacts by these numbers: the order is the published one.
  void add(cpShape* shape) {
    shapes.emplace_back(shape);
    cpSpaceAddShape(space.get(), shape);
  }
  void add_walls() {
    cpBody* ground = cpSpaceGetStaticBody(space.get());
    const cpVect corners[] = {
        {kWallNear, kWallFar}, {kWallNear, kWallNear}, {kWallFar, kWallNear}, {kWallFar, kWallFar}};
    for (int i = 0; i < 3; ++i) add(cpSegmentShapeNew(ground, corners[i], corners[i + 1], kWallRadius));
    add(cpSegmentShapeNew(ground, corners[0], corners[3], kWallRadius));
  }
  void sub_step() { cpSpaceStep(space.get(), kTimeStep); }
};

PushTState pusht_drawn_state(uint32_t seed) {
  NumpyRandom random(seed);
  const auto between = [&](int64_t low, int64_t high) { return static_cast<double>(random.integer(low, high)); };
  PushTState state;
  state.agent.x = between(50, 450);
  state.agent.y = between(50, 450);
  state.block.position.x = between(100, 400);
  state.block.position.y = between(100, 400);
  state.block.angle = random.normal() * 2 * std::numbers::pi - std::numbers::pi;
  return state;
}

PushT::PushT() : world_(std::make_unique<World>()) {}
PushT::~PushT() = default;
PushT::PushT(PushT&&) noexcept = default;
PushT& PushT::operator=(PushT&&) noexcept = default;

void PushT::reset(uint32_t seed) {
  const PushTState drawn = pusht_drawn_state(seed);
  world_ = std::make_unique<World>();
  cpBodySetPosition(world_->agent.get(), vector_of(drawn.agent));
  cpBodySetPosition(world_->block.get(), vector_of(drawn.block.position));
  cpBodySetAngle(world_->block.get(), drawn.block.angle);
  world_->sub_step();
}

void PushT::start_from(const PushTState& state) {
  world_ = std::make_unique<World>();
  cpBodySetPosition(world_->agent.get(), vector_of(state.agent));
  cpBodySetAngle(world_->block.get(), state.block.angle);
  cpBodySetPosition(world_->block.get(), vector_of(state.block.position));
}

PushTStep PushT::step(Point target) {
  check_target(target);
  cpBody* agent = world_->agent.get();
  for (int i = 0; i < kSubSteps; ++i) {
    const cpVect away = cpvsub(vector_of(target), cpBodyGetPosition(agent));
    const cpVect velocity = cpBodyGetVelocity(agent);
    const cpVect acceleration = cpvsub(cpvmult(away, kStiffness), cpvmult(velocity, kDamping));
    cpBodySetVelocity(agent, cpvadd(velocity, cpvmult(acceleration, kTimeStep)));
    world_->sub_step();
  }
  const double covered = coverage(state().block);
  return {covered, std::clamp(covered / kPushTSolved, 0.0, 1.0), covered > kPushTSolved};
}

PushTState PushT::state() const {
  return {point_of(cpBodyGetPosition(world_->agent.get())),
          {point_of(cpBodyGetPosition(world_->block.get())), cpBodyGetAngle(world_->block.get())}};
}

PushTScene PushT::scene() const {
  PushTScene scene{state()};
  cpBodyEachArbiter(world_->block.get(), add_contacts, &scene.contacts);
  return scene;
}

std::vector<PushTStep> step_all(std::span<PushT> environments, std::span<const Point> targets) {
  if (environments.size() != targets.size()) {
    throw std::invalid_argument(fmt::format("{} actions for {} environments", targets.size(), environments.size()));
  }
  std::vector<PushTStep> steps(environments.size());
  parallel_tasks(static_cast<int64_t>(steps.size()), [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    steps[k] = environments[k].step(targets[k]);
  });
  return steps;
}

}  // namespace fib::robots
