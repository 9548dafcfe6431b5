// SPDX-License-Identifier: Apache-2.0
#include "robots/arm_scene.h"

#include <fmt/format.h>

#include <utility>

namespace fib::robots {
namespace {

/// A link of the arm in the frame of the one before it.
struct Link {
  const char* place;
  const char* inertia;
  const char* joint;    ///< nothing: it is fixed
  const char* capsule;  ///< of the plain arm
};

constexpr Link kLinks[] = {
    {"", R"(pos="0 0 0.05" mass="4" diaginertia="0.4 0.4 0.4")", "", R"(fromto="-0.04 0 0.06 0 0 0.1" size="0.07")"},
    {R"(pos="0 0 0.333")", R"(pos="0 0 -0.07" mass="3" diaginertia="0.3 0.3 0.3")",
     R"(range="-2.8973 2.8973" damping="0.1")", R"(fromto="0 0 -0.13 0 -0.05 0" size="0.055")"},
    {R"(quat="0.707107 -0.707107 0 0")", R"(pos="0 -0.1 0" mass="3" diaginertia="0.3 0.3 0.3")",
     R"(range="-1.7628 1.7628" damping="0.1")", R"(fromto="0 0 0.05 0 -0.14 0" size="0.055")"},
    {R"(pos="0 -0.316 0" quat="0.707107 0.707107 0 0")", R"(pos="0.04 0 -0.05" mass="2" diaginertia="0.2 0.2 0.2")",
     R"(range="-2.8973 2.8973" damping="0.1")", R"(fromto="0 0 -0.07 0.08 0.05 0" size="0.055")"},
    {R"(pos="0.0825 0 0" quat="0.707107 0.707107 0 0")", R"(pos="-0.04 0.05 0" mass="2" diaginertia="0.2 0.2 0.2")",
     R"(range="-3.0718 -0.0698" damping="0.1")", R"(fromto="0 0 0.05 -0.08 0.07 0" size="0.055")"},
    {R"(pos="-0.0825 0.384 0" quat="0.707107 -0.707107 0 0")", R"(pos="0 0 -0.15" mass="2" diaginertia="0.2 0.2 0.2")",
     R"(range="-2.8973 2.8973" damping="0.1")", R"(fromto="0 0.05 -0.2 0 0.07 0" size="0.05")"},
    {R"(quat="0.707107 0.707107 0 0")", R"(pos="0.06 0 0" mass="1.5" diaginertia="0.1 0.1 0.1")",
     R"(range="-0.0175 3.7525" damping="0.01")", R"(fromto="0 0 0 0.088 0.02 0" size="0.045")"},
    {R"(pos="0.088 0 0" quat="0.707107 0.707107 0 0")", R"(pos="0 0 0.08" mass="0.5" diaginertia="0.05 0.05 0.05")",
     R"(range="-2.8973 2.8973" damping="0.01")", R"(fromto="0 0 0.06 0 0 0.07" size="0.04")"},
};
static_assert(std::size(kLinks) == kArmJoints + 1);

/// In newton meters.
constexpr int kTorques[kArmJoints] = {80, 80, 80, 80, 80, 12, 12};

constexpr Surface kWhite{"white", "", "", "", "1 1 1 1"};
constexpr Surface kGray{"gray", "", "", "", "0.5 0.5 0.5 1"};
constexpr Surface kBlack{"black", "", "", "", "0.2 0.2 0.2 1"};

constexpr const char* kFingerTouch = R"(contype="0" conaffinity="1" condim="4" friction="1 0.005 0.0001")";
constexpr const char* kPadTouch = R"(solref="0.01 0.5" friction="2 0.05 0.0001")";
/// The plain arm's capsules overlap at its joints; they touch everything but each other.
constexpr const char* kCapsuleTouch = R"(contype="0" conaffinity="1")";

constexpr const char* kWalls[] = {
    R"(pos="-1.25 2.25 1.5" quat="0.6532815 0.6532815 0.2705981 0.2705981" size="1.06 1.5 0.01")",
    R"(pos="-1.25 -2.25 1.5" quat="0.6532815 0.6532815 -0.2705981 -0.2705981" size="1.06 1.5 0.01")",
    R"(pos="1.25 3 1.5" quat="0.7071 0.7071 0 0" size="1.75 1.5 0.01")",
    R"(pos="1.25 -3 1.5" quat="0.7071 -0.7071 0 0" size="1.75 1.5 0.01")",
    R"(pos="-2 0 1.5" quat="0.5 0.5 0.5 0.5" size="1.5 1.5 0.01")",
    R"(pos="3 0 1.5" quat="0.5 0.5 -0.5 -0.5" size="3 1.5 0.01")",
};

std::string actuators() {
  std::string text;
  for (size_t i = 0; i < kArmJoints; ++i) {
    text += fmt::format("<motor name=\"torque{0}\" joint=\"joint{0}\" ctrllimited=\"true\" ctrlrange=\"-{1} {1}\"/>\n",
                        i + 1, kTorques[i]);
  }
  for (const auto& [index, range] : {std::pair{1, "0 0.04"}, {2, "-0.04 0"}}) {
    text += fmt::format(
        "<position name=\"finger{0}\" joint=\"finger_joint{0}\" ctrllimited=\"true\" ctrlrange=\"{1}\" "
        "kp=\"1000\" forcelimited=\"true\" forcerange=\"-20 20\"/>\n",
        index, range);
  }
  return text;
}

}  // namespace

SceneText::SceneText(std::filesystem::path assets, Purpose purpose) : assets_(std::move(assets)), purpose_(purpose) {}

std::string SceneText::looks(const Surface& surface) {
  const auto file = assets_ / "textures" / surface.file;
  if (!has_assets() || *surface.file == 0 || !std::filesystem::exists(file))
    return fmt::format("rgba=\"{}\"", surface.color);
  const std::string named = fmt::format("name=\"{}\"", surface.name);
  if (asset_list_.find("<material " + named) == std::string::npos) {
    asset_list_ += fmt::format("<texture {0} {1} file=\"{2}\"/>\n<material {0} texture=\"{3}\" {4}/>\n", named,
                               surface.texture, file.string(), surface.name, surface.material);
  }
  return fmt::format("material=\"{}\"", surface.name);
}

std::string SceneText::mesh(const std::string& file) {
  const std::string name = std::filesystem::path(file).stem();
  const std::string entry = fmt::format("<mesh name=\"{}\" file=\"{}\"/>\n", name, (assets_ / file).string());
  if (asset_list_.find(entry) == std::string::npos) asset_list_ += entry;
  return fmt::format("type=\"mesh\" mesh=\"{}\"", name);
}

std::string SceneText::fine_mesh(const std::string& file) {
  fine_meshes_.push_back((assets_ / file).string());
  return mesh(file);
}

std::string SceneText::solid(const std::string& shape, const Surface& surface, const std::string& physics) {
  if (is_visual()) return decor(shape, surface);
  return fmt::format("<geom {} {}/>\n", shape, physics);
}

std::string SceneText::decor(const std::string& shape, const Surface& surface) {
  if (!is_visual()) return "";
  return fmt::format("<geom contype=\"0\" conaffinity=\"0\" {} {}/>\n", shape, looks(surface));
}

/// The published floor mirrors the room to one percent; that would draw everything twice for a difference that cannot
/// be seen.
void SceneText::add_room() {
  add(solid(R"(name="floor" type="plane" size="3 3 0.125")", kTiles));
  for (const char* wall : kWalls) add(decor(fmt::format("type=\"box\" {}", wall), kPlaster));
  if (!is_visual()) return;
  asset_list_ +=
      R"(<texture type="skybox" builtin="gradient" rgb1="0.9 0.9 1" rgb2="0.2 0.3 0.4" width="256" height="256"/>)";
  for (const char* place : {"1 1 4", "-3 -3 4"}) {
    add(
        fmt::format("<light pos=\"{}\" dir=\"0 -0.15 -1\" diffuse=\"0.8 0.8 0.8\" specular=\"0.3 0.3 0.3\" "
                    "castshadow=\"false\"/>\n",
                    place));
  }
}

void SceneText::add_agentview(const Vector3& p) {
  add(fmt::format("<camera name=\"agentview\" pos=\"{} {} {}\" quat=\"0.653 0.271 0.271 0.653\"/>\n", p[0], p[1],
                  p[2]));
}

std::string SceneText::link_geoms(size_t link) {
  if (!has_assets()) return solid(fmt::format("type=\"capsule\" {}", kLinks[link].capsule), kWhite, kCapsuleTouch);
  return solid(fine_mesh(fmt::format("robots/panda/meshes/link{}{}.stl", link, is_visual() ? "_vis" : "")), kWhite);
}

/// The second finger is the first one turned by half a turn.
std::string SceneText::finger(size_t index) {
  const bool first = index == 1;
  const double side = first ? 1 : -1;
  const std::string turn = first ? "" : R"( quat="0 0 0 1")";
  const std::string shape =
      has_assets() ? mesh(fmt::format("grippers/meshes/panda_gripper/finger{}.stl", is_visual() ? "_vis" : "")) + turn
                   : fmt::format("type=\"box\" size=\"0.0105 0.0132 0.027\" pos=\"0 {} 0.027\"", side * 0.0132);
  return fmt::format(
      "<body name=\"finger{0}\" pos=\"0 0 0.0524\" quat=\"0.707107 0 0 0.707107\">\n"
      "<inertial pos=\"0 0 0.05\" mass=\"0.1\" diaginertia=\"0.01 0.01 0.005\"/>\n"
      "<joint name=\"finger_joint{0}\" type=\"slide\" axis=\"0 1 0\" limited=\"true\" range=\"{1}\" damping=\"100\" "
      "armature=\"1\" frictionloss=\"1\"/>\n{2}"
      "<body pos=\"0 {3} 0.056\">\n<inertial pos=\"0 0 0\" mass=\"0.01\" diaginertia=\"0.01 0.01 0.01\"/>\n{4}</body>\n"
      "</body>\n",
      index, first ? "0 0.04" : "-0.04 0", solid(shape, kGray, kFingerTouch), side * 0.0085,
      is_visual() ? ""
                  : solid(fmt::format("type=\"box\" size=\"0.008 0.004 0.008\" pos=\"0 {} -0.015\"", side * -0.005),
                          kGray, kPadTouch));
}

std::string SceneText::hand() {
  const std::string shape =
      has_assets() ? mesh(fmt::format("grippers/meshes/panda_gripper/hand{}.stl", is_visual() ? "_vis" : "")) +
                         R"( quat="0.707107 0 0 0.707107")"
                   : R"(type="box" size="0.1 0.015 0.033" pos="0 0 0.033")";
  return fmt::format(
      "<body name=\"hand\" pos=\"0 0 0.1065\" quat=\"0.924 0 0 -0.383\">\n"
      "<inertial pos=\"0 0 0\" mass=\"0.5\" diaginertia=\"0.05 0.05 0.05\"/>\n"
      "<camera name=\"eye_in_hand\" pos=\"0.05 0 0\" quat=\"0 0.707108 0.707108 0\" fovy=\"75\"/>\n"
      "<body name=\"gripper\" quat=\"0.707107 0 0 -0.707107\">\n"
      "<inertial pos=\"0 0 0.17\" quat=\"0.707107 0.707107 0 0\" mass=\"0.3\" diaginertia=\"0.09 0.07 0.05\"/>\n"
      "<site name=\"grip\" pos=\"0 0 0.097\"/>\n{}{}{}</body>\n</body>\n",
      solid(shape, kWhite, has_assets() ? "" : kCapsuleTouch), finger(1), finger(2));
}

std::string SceneText::mount() {
  const std::string box = solid(R"(type="box" pos="-0.325 0 -0.38" size="0.11 0.2 0.265")", kBlack);
  const std::string column = solid(R"(type="cylinder" pos="-0.02 0 -0.29" size="0.18 0.31")", kBlack);
  const std::string feet = solid(R"(type="box" pos="-0.1225 0 -0.758" size="0.385 0.35 0.155")", kBlack);
  if (!is_visual() || !has_assets()) return box + column + feet;
  return decor(fine_mesh("mounts/meshes/rethink_mount/pedestal.stl"), kBlack) +
         decor(R"(type="box" pos="0 0 -0.05" size="0.05 0.05 0.05")", kBlack);
}

void SceneText::add_panda(const Vector3& base) {
  std::string arm = hand();
  for (size_t i = kArmJoints + 1; i-- > 0;) {
    const std::string joint =
        i == 0 ? "" : fmt::format("<joint name=\"joint{}\" axis=\"0 0 1\" limited=\"true\" {}/>\n", i, kLinks[i].joint);
    arm = fmt::format("<body name=\"link{}\" {}>\n<inertial {}/>\n{}{}{}</body>\n", i, kLinks[i].place,
                      kLinks[i].inertia, joint, link_geoms(i), arm);
  }
  add(fmt::format("<body name=\"base\" pos=\"{} {} {}\">\n<body pos=\"0 0 0.01\">\n{}</body>\n{}</body>\n", base[0],
                  base[1], base[2] + 0.912, mount(), arm));
}

std::string SceneText::finished(const std::string& name) const {
  return fmt::format(
      "<mujoco model=\"{}\">\n<compiler angle=\"radian\"/>\n"
      "<option timestep=\"0.002\" impratio=\"20\" cone=\"elliptic\" density=\"1.2\" viscosity=\"0.00002\"/>\n"
      "<size nconmax=\"1000\" njmax=\"3000\"/>\n"
      "<visual><map znear=\"0.001\"/></visual>\n"
      "<asset>\n{}</asset>\n<worldbody>\n{}</worldbody>\n<actuator>\n{}</actuator>\n</mujoco>\n",
      name, asset_list_, world_, actuators());
}

ArmScene scene_of(const std::string& name, const SceneText& physics, const SceneText& visual) {
  return {name, physics.finished(name), visual.finished(name), visual.fine_meshes()};
}

}  // namespace fib::robots
