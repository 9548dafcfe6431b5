// SPDX-License-Identifier: Apache-2.0
// The world of PushT in numbers: a field of 512 pixels, y down, a T of two rectangles, and the pose it is pushed to.
#pragma once

#include <array>
#include <numbers>

namespace fib::robots {

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

}  // namespace fib::robots
