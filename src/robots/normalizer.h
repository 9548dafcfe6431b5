// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fib::robots {

/// Normalization by limits: each dimension's least and greatest value become −1 and 1. A dimension that hardly moves
/// (less than 1e-4) is only shifted, to 0 at its least value.
class Normalizer {
 public:
  /// `values` are rows of `dimensions` numbers, at least one row.
  static Normalizer of(std::span<const double> values, size_t dimensions);
  /// As they were told by scale() and offset(); throws std::invalid_argument unless both are of this many numbers and
  /// no scale is zero.
  static Normalizer from(std::vector<double> scale, std::vector<double> offset, size_t dimensions);

  /// In place, rows of as many numbers.
  void normalize(std::span<double> values) const;
  void restore(std::span<double> values) const;

  std::span<const double> scale() const { return scale_; }
  std::span<const double> offset() const { return offset_; }

 private:
  std::vector<double> scale_, offset_;  ///< normalized = scale · value + offset
};

}  // namespace fib::robots
