// SPDX-License-Identifier: Apache-2.0
// What readers of untrusted files share: sizes that cannot overflow.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace fib {

/// A count whose sums, differences and products cannot overflow: where one does not fit 63 bits and a sign, the
/// operator throws std::overflow_error. Sizes that a file claims are multiplied in this type alone.
class Checked {
 public:
  constexpr Checked(int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor): any count is one
  constexpr int64_t value() const { return value_; }

  friend Checked operator+(Checked a, Checked b) { return {__builtin_add_overflow(a.value_, b.value_, &a.value_), a}; }
  friend Checked operator-(Checked a, Checked b) { return {__builtin_sub_overflow(a.value_, b.value_, &a.value_), a}; }
  friend Checked operator*(Checked a, Checked b) { return {__builtin_mul_overflow(a.value_, b.value_, &a.value_), a}; }
  Checked& operator+=(Checked other) { return *this = *this + other; }
  Checked& operator*=(Checked other) { return *this = *this * other; }
  friend constexpr auto operator<=>(Checked, Checked) = default;

 private:
  Checked(bool overflow, Checked result);
  int64_t value_;
};

/// Throws std::overflow_error where the product does not fit.
Checked checked_product(std::span<const int64_t> sizes);

/// item_size × the product of the dimensions; none when one is negative or the product of the non-zero ones does not
/// fit 63 bits. A zero dimension does not excuse absurd ones beside it.
std::optional<int64_t> checked_bytes(std::span<const int64_t> shape, int64_t item_size);

/// "(2, 3)", as Python writes a shape.
std::string shape_text(std::span<const int64_t> shape);

}  // namespace fib
