// SPDX-License-Identifier: Apache-2.0
// Matrices of a size known at compile time, as small as an arm needs them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace fib::robots::small {

template <size_t Rows, size_t Columns>
struct Matrix {
  std::array<double, Rows * Columns> values{};
  double& at(size_t i, size_t j) { return values[i * Columns + j]; }
  double at(size_t i, size_t j) const { return values[i * Columns + j]; }
};

template <size_t M, size_t K, size_t N>
Matrix<M, N> operator*(const Matrix<M, K>& a, const Matrix<K, N>& b) {
  Matrix<M, N> c;
  for (size_t i = 0; i < M; ++i)
    for (size_t k = 0; k < K; ++k)
      for (size_t j = 0; j < N; ++j) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}

template <size_t M, size_t N>
Matrix<N, M> transpose(const Matrix<M, N>& a) {
  Matrix<N, M> t;
  for (size_t i = 0; i < M; ++i)
    for (size_t j = 0; j < N; ++j) t.at(j, i) = a.at(i, j);
  return t;
}

/// Turns rows and columns p and q of a symmetric matrix so that they no longer meet.
template <size_t N>
void rotate_away(Matrix<N, N>& a, Matrix<N, N>& vectors, size_t p, size_t q) {
  if (std::abs(a.at(p, q)) < 1e-300) return;
  const double theta = (a.at(q, q) - a.at(p, p)) / (2 * a.at(p, q));
  const double t = std::copysign(1, theta) / (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double c = 1 / std::sqrt(t * t + 1), s = t * c;
  const auto mix = [&](double& x, double& y) {
    const double kept = c * x - s * y;
    y = s * x + c * y;
    x = kept;
  };
  for (size_t k = 0; k < N; ++k) mix(a.at(k, p), a.at(k, q));
  for (size_t k = 0; k < N; ++k) mix(a.at(p, k), a.at(q, k));
  for (size_t k = 0; k < N; ++k) mix(vectors.at(k, p), vectors.at(k, q));
}

template <size_t N>
double off_diagonal(const Matrix<N, N>& a) {
  double sum = 0;
  for (size_t i = 0; i < N; ++i)
    for (size_t j = 0; j < i; ++j) sum += a.at(i, j) * a.at(i, j);
  return sum;
}

/// The inverse of a symmetric matrix where it has one, zero in directions that it does not have: where the arm is
/// stretched out there are such.
template <size_t N>
Matrix<N, N> pseudo_inverse(Matrix<N, N> a) {
  Matrix<N, N> vectors;
  for (size_t i = 0; i < N; ++i) vectors.at(i, i) = 1;
  for (int sweep = 0; sweep < 30 && off_diagonal(a) > 1e-24; ++sweep)
    for (size_t p = 0; p < N; ++p)
      for (size_t q = p + 1; q < N; ++q) rotate_away(a, vectors, p, q);
  double largest = 0;
  for (size_t i = 0; i < N; ++i) largest = std::max(largest, std::abs(a.at(i, i)));
  Matrix<N, N> scaled = vectors;
  for (size_t j = 0; j < N; ++j) {
    const double inverse = std::abs(a.at(j, j)) > 1e-15 * largest ? 1 / a.at(j, j) : 0;
    for (size_t i = 0; i < N; ++i) scaled.at(i, j) *= inverse;
  }
  return scaled * transpose(vectors);
}

}  // namespace fib::robots::small
