// SPDX-License-Identifier: Apache-2.0
#include "robots/pusht.h"
#include "robots/worlds/worlds.h"

namespace fib::robots {
namespace {

/// Agent, T, then the ends of each contact's mark.
Moment moment_of(const PushTScene& scene) {
  const PushTState& s = scene.state;
  Moment moment{s.agent.x, s.agent.y, s.block.position.x, s.block.position.y, s.block.angle};
  for (const Contact& c : scene.contacts) moment.insert(moment.end(), {c.from.x, c.from.y, c.to.x, c.to.y});
  return moment;
}

PushTScene scene_of(const Moment& m) {
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
  Moment moment() const override { return moment_of(world_.scene()); }
  std::vector<SeenValue> seen(const Moment& moment) const override {
    return {{{moment[0], moment[1]}, {}}, {{}, draw_image(scene_of(moment))}};
  }
  std::vector<uint8_t> frame(const Moment& moment) const override { return draw_canvas(scene_of(moment)); }

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
