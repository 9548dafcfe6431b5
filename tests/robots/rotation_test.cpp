// SPDX-License-Identifier: Apache-2.0
#include "robots/rotation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/rng.h"

namespace fib::robots {
namespace {

/// The exponential of the cross product's matrix, term by term.
Matrix3 slow_rotation(const Vector3& w) {
  const Matrix3 k{0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0};
  Matrix3 sum = kIdentity, term = kIdentity;
  for (int n = 1; n < 60; ++n) {
    term = product(term, k);
    for (size_t i = 0; i < 9; ++i) {
      term[i] /= n;
      sum[i] += term[i];
    }
  }
  return sum;
}

void expect_equal(const Matrix3& a, const Matrix3& b, double tolerance) {
  for (size_t i = 0; i < 9; ++i) EXPECT_NEAR(a[i], b[i], tolerance);
}

Vector3 drawn_axis_angle(CounterRng& rng, double most) {
  Vector3 axis{standard_normal(rng), standard_normal(rng), standard_normal(rng)};
  return (uniform_between(rng, 0, most) / length(axis)) * axis;
}

TEST(Rotation, of_axis_and_angle_is_the_exponential) {
  CounterRng rng(1);
  for (int i = 0; i < 200; ++i) {
    const Vector3 turn = drawn_axis_angle(rng, 3 * std::numbers::pi);
    expect_equal(matrix_of(turn), slow_rotation(turn), 1e-9);
  }
}

TEST(Rotation, survives_every_form_of_it) {
  CounterRng rng(2);
  for (int i = 0; i < 200; ++i) {
    const Matrix3 m = slow_rotation(drawn_axis_angle(rng, std::numbers::pi));
    expect_equal(matrix_of(axis_angle_of(m)), m, 1e-9);
    expect_equal(matrix_of(six_numbers_of(m)), m, 1e-9);
    const auto [x, y, z, w] = quaternion_of(m);
    EXPECT_NEAR(x * x + y * y + z * z + w * w, 1, 1e-12);
    EXPECT_NEAR(1 - 2 * (y * y + z * z), m[0], 1e-9);
    EXPECT_NEAR(2 * (x * y + z * w), m[3], 1e-9);
  }
  expect_equal(matrix_of(axis_angle_of(matrix_of(Vector3{std::numbers::pi, 0, 0}))), {1, 0, 0, 0, -1, 0, 0, 0, -1},
               1e-9);
}

/// As a policy draws them: neither of length one nor perpendicular.
TEST(Rotation, comes_from_any_six_numbers) {
  CounterRng rng(3);
  for (int i = 0; i < 200; ++i) {
    SixNumbers rows{};
    for (double& v : rows) v = standard_normal(rng);
    const Matrix3 m = matrix_of(rows);
    expect_equal(product(m, transposed(m)), kIdentity, 1e-9);
    const Vector3 first{m[0], m[1], m[2]}, given{rows[0], rows[1], rows[2]};
    EXPECT_NEAR(length(cross(first, given)), 0, 1e-9);
    EXPECT_GT(dot({m[3], m[4], m[5]}, {rows[3], rows[4], rows[5]}), 0);
    EXPECT_NEAR(dot(cross(first, {m[3], m[4], m[5]}), {m[6], m[7], m[8]}), 1, 1e-9);
  }
}

}  // namespace
}  // namespace fib::robots
