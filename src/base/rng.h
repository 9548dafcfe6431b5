// SPDX-License-Identifier: Apache-2.0
// Random numbers that do not depend on who asked before: a generator is keyed by what it is for, so the draw for
// (seed, layer, head) or (seed, epoch, image) is the same in any order, on any thread, on any machine.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace fib {

/// SplitMix64 as a counter-based generator: value i is a mix of key + (i + 1) times the golden ratio's 64 bits.
class CounterRng {
 public:
  /// Each list of keys, in its order, is a stream of its own.
  explicit CounterRng(uint64_t seed, std::initializer_list<uint64_t> keys = {}) : key_(mix(seed + kStep)) {
    for (uint64_t k : keys) key_ = mix(mix(key_ ^ kFold) + k);
  }

  /// Value i of the stream, wherever next_u64 stands.
  uint64_t at(uint64_t i) const { return mix(key_ + (i + 1) * kStep); }
  uint64_t next_u64() { return at(counter_++); }

  /// In [0, 1), a multiple of 2⁻⁵³.
  double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

  /// In [0, n), every value equally likely; n > 0.
  uint64_t below(uint64_t n) {
    // The lowest 2⁶⁴ mod n values are drawn again: what remains is a multiple of n.
    const uint64_t rejected = (0 - n) % n;
    uint64_t x = next_u64();
    while (x < rejected) x = next_u64();
    return x % n;
  }

 private:
  static constexpr uint64_t kStep = UINT64_C(0x9E3779B97F4A7C15);
  /// Any constant but 0 and kStep: a stream's key shall not be a value of the stream above it.
  static constexpr uint64_t kFold = UINT64_C(0xD1B54A32D192ED03);

  static constexpr uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
  }

  uint64_t key_;
  uint64_t counter_ = 0;
};

}  // namespace fib
