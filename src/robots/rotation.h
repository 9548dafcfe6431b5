// SPDX-License-Identifier: Apache-2.0
// Rotations in space, in the forms that files, policies and controllers use.
#pragma once

#include <array>

namespace fib::robots {

using Vector3 = std::array<double, 3>;
/// Row by row.
using Matrix3 = std::array<double, 9>;
/// x, y, z, w: as recordings have it.
using Quaternion = std::array<double, 4>;
/// The first two rows of a matrix: continuous, unlike fewer numbers (Zhou et al. 2019).
using SixNumbers = std::array<double, 6>;

inline constexpr Matrix3 kIdentity{1, 0, 0, 0, 1, 0, 0, 0, 1};

struct Pose3 {
  Vector3 position{};
  Matrix3 rotation = kIdentity;
};

Vector3 operator+(const Vector3& a, const Vector3& b);
Vector3 operator-(const Vector3& a, const Vector3& b);
Vector3 operator*(double factor, const Vector3& a);
double dot(const Vector3& a, const Vector3& b);
Vector3 cross(const Vector3& a, const Vector3& b);
double length(const Vector3& a);

Matrix3 product(const Matrix3& a, const Matrix3& b);
Matrix3 transposed(const Matrix3& a);
/// About the vertical axis.
Matrix3 turned(double yaw);

/// Axis times angle, to a matrix and back; the angle comes back from [0, π].
Matrix3 matrix_of(const Vector3& axis_angle);
Vector3 axis_angle_of(const Matrix3& rotation);
Quaternion quaternion_of(const Matrix3& rotation);

SixNumbers six_numbers_of(const Matrix3& rotation);
/// Of any two rows that are not parallel: the first is scaled, the second made perpendicular.
Matrix3 matrix_of(const SixNumbers& rows);

/// Between two rotations, in [0, π].
double angle_between(const Matrix3& a, const Matrix3& b);

}  // namespace fib::robots
