// SPDX-License-Identifier: Apache-2.0
// Dropout of attention probabilities without a stored mask: whether a pair is dropped is a hash of (seed, sample, head,
// query, key), so backward finds the same pairs again in any order.
#pragma once

#include <cstdint>

#include "base/rng.h"

namespace fib::kernels {

/// A bijection of 32-bit words that flips every output bit with probability near one half per input bit.
constexpr uint32_t mix32(uint32_t x) {
  x ^= x >> 16;
  x *= UINT32_C(0x7feb352d);
  x ^= x >> 15;
  x *= UINT32_C(0x846ca68b);
  x ^= x >> 16;
  return x;
}

/// What the pairs of one (sample, head) share.
struct DropoutStream {
  uint32_t query_key = 0, key_key = 0;

  DropoutStream() = default;
  DropoutStream(uint64_t seed, int64_t sample, int64_t head) {
    const uint64_t z = CounterRng(seed, {static_cast<uint64_t>(sample), static_cast<uint64_t>(head)}).at(0);
    query_key = static_cast<uint32_t>(z);
    key_key = static_cast<uint32_t>(z >> 32);
  }

  /// Uniform over 32 bits. The row word enters twice, before and after a mixing step: entering once, two rows whose
  /// words differ in low bits only would drop the same keys in another order.
  constexpr uint32_t bits(int64_t query, int64_t key) const {
    const uint32_t row = mix32(static_cast<uint32_t>(query) ^ query_key);
    const uint32_t pair = mix32(row ^ (static_cast<uint32_t>(key) + key_key));
    return mix32(pair + row * UINT32_C(0x9E3779B9));
  }
};

/// A pair is kept when its bits reach this: P(drop) = threshold / 2^32.
constexpr uint32_t dropout_threshold(double probability) { return static_cast<uint32_t>(probability * 4294967296.0); }

}  // namespace fib::kernels
