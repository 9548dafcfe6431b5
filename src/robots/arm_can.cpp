// SPDX-License-Identifier: Apache-2.0
// Can, PickPlaceCan in full: a can stands somewhere in one bin, and is to be left in its quarter of another.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "robots/arm_scene.h"
#include "robots/arm_task.h"
#include "robots/numpy_random.h"

namespace fib::robots {
namespace {

constexpr Vector3 kBin1{0.1, -0.25, 0.8}, kBin2{0.1, 0.28, 0.8};
/// Of a bin, as the published environment counts with it; its walls stand a little farther out.
constexpr double kBinX = 0.39, kBinY = 0.49;
constexpr double kMargin = 0.05;  ///< within which nothing is placed
constexpr double kBinDepth = 0.1;
constexpr double kAway = 0.6;  ///< 1 − tanh(10 · distance) of gripper and can: it let go below

/// What the published environment places one after the other, each apart from those before; all but the can are taken
/// away again, and what they drew stays drawn.
struct PlacedObject {
  double radius, bottom, top;  ///< of its footprint, and of its middle's distances
};
constexpr double kCanRadius = 0.0353553390593, kCanBottom = 0.06;
constexpr PlacedObject kPlaced[] = {{0.0353553390593, 0.085, 0.075},  // milk
                                    {0.0424264068712, 0.045, 0.03},   // bread
                                    {0.05, 0.10, 0.03},               // cereal
                                    {kCanRadius, kCanBottom, 0.04}};

struct Wall {
  const char* place;
  const char* size;
};
constexpr Wall kOuterWalls[] = {{"0 0.25 0.05", "0.21 0.01 0.05"},
                                {"0 -0.25 0.05", "0.21 0.01 0.05"},
                                {"0.2 0 0.05", "0.01 0.25 0.05"},
                                {"-0.2 0 0.05", "0.01 0.25 0.05"}};
constexpr Wall kCross[] = {{"0 0 0.05", "0.2 0.01 0.05"}, {"0 0 0.05", "0.01 0.25 0.05"}};

std::string box(SceneText& text, const Wall& wall, const Surface& wood) {
  return text.solid(fmt::format("type=\"box\" pos=\"{}\" size=\"{}\"", wall.place, wall.size), wood,
                    R"(friction="1 0.005 0.0001")");
}

std::string bin(SceneText& text, const Vector3& place, const Surface& wood, bool quarters) {
  std::string parts = fmt::format("<body pos=\"{} {} {}\">\n", place[0], place[1], place[2]);
  parts += box(text, {"0 0 0", "0.2 0.25 0.02"}, wood);
  for (const Wall& wall : kOuterWalls) parts += box(text, wall, wood);
  if (quarters)
    for (const Wall& wall : kCross) parts += box(text, wall, wood);
  for (const char* leg : {"0.15 0.2", "-0.15 0.2", "-0.15 -0.2", "0.15 -0.2"})
    parts += text.decor(fmt::format("type=\"cylinder\" size=\"0.01 0.4\" pos=\"{} -0.4\"", leg), kSteel);
  return parts + "</body>\n";
}

std::string can(SceneText& text) {
  const std::string shape =
      text.has_assets() ? text.mesh("objects/meshes/can.stl") : R"(type="cylinder" size="0.025 0.04")";
  return "<body name=\"object\" pos=\"0.1 -0.25 0.86\">\n<joint type=\"free\" damping=\"0.0005\"/>\n" +
         text.solid(R"(name="object" )" + shape, kCanLabel,
                    R"(density="100" friction="0.95 0.3 0.1" solimp="0.998 0.998 0.001" solref="0.001 1" condim="4")") +
         "</body>\n";
}

SceneText can_model(const std::filesystem::path& assets, SceneText::Purpose purpose) {
  SceneText text(assets, purpose);
  text.add_room();
  text.add_agentview({1.0, 0, 1.75});
  text.add(bin(text, kBin1, kLightWood, false));
  text.add(bin(text, kBin2, kDarkWood, true));
  text.add_panda({-0.5, -0.1, 0});
  text.add(can(text));
  return text;
}

ArmScene can_scene(const std::filesystem::path& assets) {
  return scene_of("can", can_model(assets, SceneText::Purpose::physics), can_model(assets, SceneText::Purpose::visual));
}

struct Placed {
  PlacedObject object;
  Vector3 middle;
};

bool is_free(const Placed& candidate, const std::vector<Placed>& others) {
  for (const Placed& other : others) {
    const double apart = std::hypot(candidate.middle[0] - other.middle[0], candidate.middle[1] - other.middle[1]);
    if (apart <= other.object.radius + candidate.object.radius &&
        candidate.middle[2] - other.middle[2] <= other.object.top + candidate.object.bottom)
      return false;
  }
  return true;
}

Placed placed_among(const PlacedObject& object, const std::vector<Placed>& others, NumpyRandom& random) {
  const double x = kBinX / 2 - kMargin - object.radius, y = kBinY / 2 - kMargin - object.radius;
  Placed candidate{object, {}};
  do {
    candidate.middle[0] = drawn_between(random, -x, x) + kBin1[0];
    candidate.middle[1] = drawn_between(random, -y, y) + kBin1[1];
    candidate.middle[2] = kBin1[2] + object.bottom;
  } while (!is_free(candidate, others));
  return candidate;
}

ArmStart can_start(uint32_t seed) {
  NumpyRandom random(seed);
  ArmStart start{.joints = drawn_joints(random), .object = {}, .yaw = 0, .half_size = {}};
  std::vector<Placed> others;
  others.reserve(std::size(kPlaced));
  for (const PlacedObject& object : kPlaced) {
    others.push_back(placed_among(object, others, random));
    start.yaw = drawn_between(random, 0, 2 * std::numbers::pi);
  }
  start.object = others.back().middle;
  return start;
}

/// The quarter with the larger x and y.
bool in_its_quarter(const Vector3& p) {
  return p[0] > kBin2[0] && p[0] < kBin2[0] + kBinX / 2 && p[1] > kBin2[1] && p[1] < kBin2[1] + kBinY / 2 &&
         p[2] > kBin2[2] && p[2] < kBin2[2] + kBinDepth;
}

bool can_solved(const ArmState& state) {
  const double distance = length(state.gripper.position - state.object.position);
  return in_its_quarter(state.object.position) && 1 - std::tanh(10 * distance) < kAway;
}

/// The can is let go near the quarter's inner corner: an arm that looks straight down does not reach its middle.
std::vector<ExpertStage> can_plan(CounterRng& variation) {
  const auto drawn = [&](double low, double high) { return uniform_between(variation, low, high); };
  const double hover = drawn(0.08, 0.14), depth = drawn(-0.005, 0.012), yaw = drawn(-0.3, 0.3);
  const Vector3 aside{drawn(-0.015, 0.015), drawn(-0.015, 0.015), 0};
  const double carried = drawn(1.03, 1.09), let_go = drawn(0.94, 0.97);
  const double x = drawn(0.142, 0.160), y = drawn(0.330, 0.350);
  const double fast = drawn(0.022, 0.034), slow = drawn(0.012, 0.018), carry = drawn(0.020, 0.030);
  const int64_t closing = integer_between(variation, 6, 9);
  const auto above = [=](const ArmState& s, const Vector3& by) { return Pose3{s.object.position + by, downward(yaw)}; };
  const auto up = [](const ArmState& s, double z) {
    return Pose3{{s.gripper.position[0], s.gripper.position[1], z}, s.gripper.rotation};
  };
  return {
      {[=](const ArmState& s) {
         return above(s, aside + Vector3{0, 0, hover});
       },
       -1, fast, 0},
      {[=](const ArmState& s) {
         return above(s, {0, 0, depth});
       },
       -1, slow, 1},
      {[](const ArmState& s) { return s.gripper; }, 1, slow, closing},
      {[=](const ArmState& s) { return up(s, carried); }, 1, fast, 0},
      {[=](const ArmState&) {
         return Pose3{{x, y, carried}, downward(yaw)};
       },
       1, carry, 1},
      {[=](const ArmState&) {
         return Pose3{{x, y, let_go}, downward(yaw)};
       },
       1, slow, 1},
      {[](const ArmState& s) { return s.gripper; }, -1, slow, 6},
      {[=](const ArmState& s) { return up(s, carried); }, -1, fast, 3},
  };
}

}  // namespace

ArmTask can_task() {
  return {"can", "an arm carries a can to its bin", "PickPlaceCan", can_scene, can_start, can_solved, can_plan};
}

}  // namespace fib::robots
