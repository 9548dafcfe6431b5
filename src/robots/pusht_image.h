// SPDX-License-Identifier: Apache-2.0
// The world of PushT in numbers and in pixels.
#pragma once

#include <array>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace fib::robots {

// ---- A field of 512 pixels, y down, a T of two rectangles, and the pose it is pushed to

struct Point {
  double x = 0, y = 0;
};

struct Pose {
  Point position;  ///< of the body's origin, the middle of the T's upper edge
  double angle = 0;
};

using Rectangle = std::array<Point, 4>;

inline constexpr double kFieldSize = 512;
inline constexpr double kAgentRadius = 15;
inline constexpr double kWallRadius = 2;
/// The walls run along this square; its far side is at 506, one short of symmetric.
inline constexpr double kWallNear = 5, kWallFar = 506;
inline constexpr Pose kGoal{{256, 256}, std::numbers::pi / 4};

/// The bar and the stem in the T's own coordinates, corners in the order of Chipmunk's hulls, which decides pixels
/// where they are drawn.
inline constexpr std::array<Rectangle, 2> kTee{
    {{{{-60, 0}, {60, 0}, {60, 30}, {-60, 30}}}, {{{-15, 30}, {15, 30}, {15, 120}, {-15, 120}}}}};
inline constexpr Point kTeeGravity{0, 45};

/// The same corners in the world.
Rectangle placed(const Rectangle& rectangle, const Pose& pose);

/// The share of the goal that a T at this pose covers.
double coverage(const Pose& tee);

// ---- As the demonstrations were recorded: drawn on 512 × 512 pixels, then reduced to 96 × 96

inline constexpr int kCanvasSize = 512;
inline constexpr int kImageSize = 96;

/// What is drawn and what is observed: agent, T.
struct PushTState {
  Point agent;
  Pose block;
};

/// Where two bodies touch: the mark that is drawn there.
struct Contact {
  Point from, to;
};

/// What is drawn.
struct PushTScene {
  PushTState state;
  std::vector<Contact> contacts = {};
};

/// [512, 512, 3] red, green, blue: what a person watches.
std::vector<uint8_t> draw_canvas(const PushTScene& scene);
/// [96, 96, 3]: what a policy sees.
std::vector<uint8_t> draw_image(const PushTScene& scene);

}  // namespace fib::robots
