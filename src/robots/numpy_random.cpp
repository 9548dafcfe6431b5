// SPDX-License-Identifier: Apache-2.0
#include "robots/numpy_random.h"

#include <bit>
#include <cmath>

namespace fib::robots {

int64_t NumpyRandom::integer(int64_t low, int64_t high) {
  const auto most = static_cast<uint32_t>(high - low - 1);
  const uint32_t mask = std::bit_ceil(most + 1) - 1;
  uint32_t drawn = bits_() & mask;
  while (drawn > most) drawn = bits_() & mask;
  return low + drawn;
}

double NumpyRandom::uniform() {
  const uint32_t high = bits_() >> 5;
  const uint32_t low = bits_() >> 6;
  return (high * 0x1.0p26 + low) * 0x1.0p-53;
}

double NumpyRandom::normal() {
  if (has_kept_) {
    has_kept_ = false;
    return kept_;
  }
  double x, y, square;
  do {
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * std::log(square) / square);
  kept_ = factor * x;
  has_kept_ = true;
  return factor * y;
}

}  // namespace fib::robots
