// SPDX-License-Identifier: Apache-2.0
#include "robots/pusht.h"
#include "robots/robot.h"

namespace fib::robots {
namespace {

/// Agent, T, then the ends of each contact's mark.
WorldState state_of(const PushTScene& scene) {
  const PushTState& s = scene.state;
  WorldState state{s.agent.x, s.agent.y, s.block.position.x, s.block.position.y, s.block.angle};
  for (const Contact& c : scene.contacts) state.insert(state.end(), {c.from.x, c.from.y, c.to.x, c.to.y});
  return state;
}

PushTScene scene_of(const WorldState& m) {
  PushTScene scene{{{m[0], m[1]}, {{m[2], m[3]}, m[4]}}};
  for (size_t i = 5; i < m.size(); i += 4) scene.contacts.push_back({{m[i], m[i + 1]}, {m[i + 2], m[i + 3]}});
  return scene;
}

class PushTWorld final : public RobotWorld {
 public:
  void reset(uint32_t seed) override { world_.reset(seed); }
  RobotStep step(std::span<const double> action) override {
    const PushTStep step = world_.step({action[0], action[1]});
    return {step.reward, step.done};
  }
  WorldState state() const override { return state_of(world_.scene()); }
  std::vector<ObservedValue> observe(const WorldState& state) const override {
    return {{{state[0], state[1]}, {}}, {{}, draw_image(scene_of(state))}};
  }
  std::vector<uint8_t> frame(const WorldState& state) const override { return draw_canvas(scene_of(state)); }

 private:
  PushT world_;
};

class PushTRecording final : public RobotRecording {
 public:
  explicit PushTRecording(std::filesystem::path folder)
      : folder_(std::move(folder)), all_(read_demonstrations(folder_)) {}

  const std::vector<Episode>& episodes() const override { return all_.episodes; }
  std::vector<double> actions() const override {
    std::vector<double> values;
    values.reserve(2 * all_.actions.size());
    for (const Point& p : all_.actions) values.insert(values.end(), {p.x, p.y});
    return values;
  }
  std::vector<double> numbers(const Observation&) const override {
    std::vector<double> values;
    values.reserve(2 * all_.states.size());
    for (const PushTState& s : all_.states) values.insert(values.end(), {s.agent.x, s.agent.y});
    return values;
  }
  std::vector<uint8_t> images(const Observation&, const Episode& episode) const override {
    return read_images(folder_, episode);
  }

 private:
  std::filesystem::path folder_;
  Demonstrations all_;
};

}  // namespace

std::unique_ptr<RobotWorld> pusht_world(const Robot&) { return std::make_unique<PushTWorld>(); }

std::unique_ptr<RobotRecording> pusht_recording(const std::filesystem::path& folder) {
  return std::make_unique<PushTRecording>(folder);
}

}  // namespace fib::robots
