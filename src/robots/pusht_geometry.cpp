// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "robots/pusht_image.h"

namespace fib::robots {
namespace {

using Polygon = std::vector<Point>;

/// Twice the signed area of the triangle a, b, p: not negative where p is on the inner side of the edge a → b.
double side(Point a, Point b, Point p) { return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x); }

/// Sutherland-Hodgman: what of the polygon lies on the inner side of the edge a → b.
Polygon clipped(const Polygon& polygon, Point a, Point b) {
  Polygon kept;
  for (size_t i = 0; i < polygon.size(); ++i) {
    const Point from = polygon[i], to = polygon[(i + 1) % polygon.size()];
    const double s = side(a, b, from), t = side(a, b, to);
    if (s >= 0) kept.push_back(from);
    if ((s < 0) != (t < 0)) {
      const double share = s / (s - t);
      kept.push_back({from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)});
    }
  }
  return kept;
}

double polygon_area(const Polygon& polygon) {
  double twice = 0;
  for (size_t i = 0; i < polygon.size(); ++i) {
    const Point a = polygon[i], b = polygon[(i + 1) % polygon.size()];
    twice += a.x * b.y - a.y * b.x;
  }
  return twice / 2;
}

double common_area(const Rectangle& one, const Rectangle& other) {
  Polygon rest(one.begin(), one.end());
  for (size_t i = 0; i < other.size(); ++i) rest = clipped(rest, other[i], other[(i + 1) % other.size()]);
  return polygon_area(rest);
}

double tee_area() {
  double area = 0;
  for (const Rectangle& r : kTee) area += polygon_area({r.begin(), r.end()});
  return area;
}

}  // namespace

Rectangle placed(const Rectangle& rectangle, const Pose& pose) {
  const double c = std::cos(pose.angle), s = std::sin(pose.angle);
  Rectangle world;
  for (size_t i = 0; i < rectangle.size(); ++i) {
    const Point p = rectangle[i];
    world[i] = {pose.position.x + (p.x * c - p.y * s), pose.position.y + (p.x * s + p.y * c)};
  }
  return world;
}

double coverage(const Pose& tee) {
  // A T's rectangles share an edge and no area, so the areas of the four intersections add up.
  double common = 0;
  for (const Rectangle& mine : kTee) {
    for (const Rectangle& goal : kTee) common += common_area(placed(mine, tee), placed(goal, kGoal));
  }
  return common / tee_area();
}

}  // namespace fib::robots
