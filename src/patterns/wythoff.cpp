// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <stdexcept>
#include <string>

#include "fibottention/pattern.h"

namespace fib {
namespace {

/// ⌊√x⌋. The double's root is off by at most one where 64 bits do not fit its 53, so it is corrected in integers.
uint64_t integer_sqrt(uint64_t x) {
  constexpr uint64_t kLargestRoot = UINT64_C(4294967295);
  uint64_t r = static_cast<uint64_t>(std::sqrt(static_cast<double>(x)));
  if (r > kLargestRoot) r = kLargestRoot;
  while (r * r > x) --r;
  while (r < kLargestRoot && (r + 1) * (r + 1) <= x) ++r;
  return r;
}

/// xφ = (x + √(5x²)) / 2, and the floor of the root is enough: no integer lies between.
int64_t exact_floor_times_phi(int64_t x) {
  const uint64_t n = static_cast<uint64_t>(x);
  return static_cast<int64_t>((n + integer_sqrt(5 * n * n)) / 2);
}

void check_row(int64_t i) {
  if (i >= 1 && i <= kMaxWythoffRow) return;
  throw std::invalid_argument("Wythoff row must be 1 to " + std::to_string(kMaxWythoffRow) + ", got " +
                              std::to_string(i));
}

}  // namespace

int64_t floor_times_phi(int64_t x) {
  static const int64_t largest = exact_floor_times_phi(kMaxWythoffRow);
  if (x >= 0 && x <= largest) return exact_floor_times_phi(x);
  throw std::invalid_argument("floor_times_phi takes 0 to " + std::to_string(largest) + ", got " + std::to_string(x));
}

SequenceStart wythoff_row(int64_t i) {
  check_row(i);
  const int64_t m = floor_times_phi(i);
  const int64_t a = floor_times_phi(m);
  return {a, a + m};
}

SequenceStart modified_wythoff_row(int64_t i) {
  check_row(i);
  return {i - 1, floor_times_phi(i)};
}

}  // namespace fib
