// SPDX-License-Identifier: Apache-2.0
// Random numbers that do not depend on who asked before: a generator is keyed by what it is for, so the draw for
// (seed, layer, head) or (seed, epoch, image) is the same in any order, on any thread, on any machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <utility>
#include <vector>

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

// The distributions, our own: <random>'s do not promise the same numbers on every machine.

/// What a stream of random numbers is for: the first key after the seed. One list, so that no two uses share a stream.
enum class RandomUse : uint64_t { split = 1, order, sample, mix, replacement, corruption };

inline double uniform_between(CounterRng& rng, double low, double high) { return low + (high - low) * rng.uniform(); }

/// low and high are both possible.
inline int64_t integer_between(CounterRng& rng, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(rng.below(static_cast<uint64_t>(high - low) + 1));
}

inline bool bernoulli(CounterRng& rng, double probability) { return rng.uniform() < probability; }

/// One standard normal number for two uniform ones (Box-Muller); 1 − u is never zero.
inline double standard_normal(CounterRng& rng) {
  const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
  return radius * std::cos(2 * std::numbers::pi * rng.uniform());
}

/// Beta(alpha, alpha), alpha > 0.
double symmetric_beta(CounterRng& rng, double alpha);

/// Poisson(mean), mean ≥ 0: a whole number.
double poisson(CounterRng& rng, double mean);

/// Fisher-Yates.
template <class T>
void shuffle(std::vector<T>& items, CounterRng& rng) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[rng.below(i)]);
}

}  // namespace fib
