// SPDX-License-Identifier: Apache-2.0
#include "robots/rotation.h"

#include <algorithm>
#include <cmath>

namespace fib::robots {
namespace {

/// w first; the largest component is made by a square root, the others from it, so that nothing is lost at any angle.
std::array<double, 4> quaternion_wxyz(const Matrix3& m) {
  const std::array<double, 4> squares = {1 + m[0] + m[4] + m[8], 1 + m[0] - m[4] - m[8], 1 - m[0] + m[4] - m[8],
                                         1 - m[0] - m[4] + m[8]};
  const auto largest = static_cast<size_t>(std::ranges::max_element(squares) - squares.begin());
  const double wx = m[7] - m[5], wy = m[2] - m[6], wz = m[3] - m[1];
  const double xy = m[1] + m[3], xz = m[2] + m[6], yz = m[5] + m[7];
  const double s = squares[largest];
  const std::array<std::array<double, 4>, 4> rows = {
      {{s, wx, wy, wz}, {wx, s, xy, xz}, {wy, xy, s, yz}, {wz, xz, yz, s}}};
  std::array<double, 4> q = rows[largest];
  const double scale = 1 / (2 * std::sqrt(s));
  for (double& v : q) v *= scale;
  return q;
}

Vector3 scaled_to_one(const Vector3& a) { return (1 / length(a)) * a; }

}  // namespace

Vector3 operator+(const Vector3& a, const Vector3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Vector3 operator-(const Vector3& a, const Vector3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
Vector3 operator*(double factor, const Vector3& a) { return {factor * a[0], factor * a[1], factor * a[2]}; }
double dot(const Vector3& a, const Vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double length(const Vector3& a) { return std::sqrt(dot(a, a)); }

Matrix3 product(const Matrix3& a, const Matrix3& b) {
  Matrix3 c{};
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j)
      for (size_t k = 0; k < 3; ++k) c[3 * i + j] += a[3 * i + k] * b[3 * k + j];
  return c;
}

Matrix3 transposed(const Matrix3& a) { return {a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]}; }

Matrix3 turned(double yaw) {
  const double c = std::cos(yaw), s = std::sin(yaw);
  return {c, -s, 0, s, c, 0, 0, 0, 1};
}

/// Rodrigues: I + sin θ K + (1 − cos θ) K².
Matrix3 matrix_of(const Vector3& axis_angle) {
  const double angle = length(axis_angle);
  if (angle < 1e-12) return kIdentity;
  const auto [x, y, z] = (1 / angle) * axis_angle;
  const double c = std::cos(angle), s = std::sin(angle), d = 1 - c;
  return {c + d * x * x,     d * x * y - s * z, d * x * z + s * y, d * x * y + s * z, c + d * y * y,
          d * y * z - s * x, d * x * z - s * y, d * y * z + s * x, c + d * z * z};
}

Vector3 axis_angle_of(const Matrix3& rotation) {
  auto [w, x, y, z] = quaternion_wxyz(rotation);
  const double sign = w < 0 ? -1 : 1;
  const Vector3 axis{sign * x, sign * y, sign * z};
  const double sine = length(axis);
  if (sine < 1e-12) return {};
  return (2 * std::atan2(sine, sign * w) / sine) * axis;
}

Quaternion quaternion_of(const Matrix3& rotation) {
  const auto [w, x, y, z] = quaternion_wxyz(rotation);
  return {x, y, z, w};
}

SixNumbers six_numbers_of(const Matrix3& m) { return {m[0], m[1], m[2], m[3], m[4], m[5]}; }

Matrix3 matrix_of(const SixNumbers& rows) {
  const Vector3 first = scaled_to_one({rows[0], rows[1], rows[2]}), given{rows[3], rows[4], rows[5]};
  const Vector3 second = scaled_to_one(given - dot(first, given) * first);
  const Vector3 third = cross(first, second);
  return {first[0], first[1], first[2], second[0], second[1], second[2], third[0], third[1], third[2]};
}

double angle_between(const Matrix3& a, const Matrix3& b) { return length(axis_angle_of(product(transposed(a), b))); }

}  // namespace fib::robots
