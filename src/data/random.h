// SPDX-License-Identifier: Apache-2.0
// The distributions that data needs, on the counter-based generator: the same numbers on every machine, which
// <random>'s own distributions do not promise.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace fib {

/// What a stream of random numbers is for: the first key after the seed, so that no two uses share a stream.
enum class RandomUse : uint64_t { split = 1, order, sample, mix, replacement, corruption };

inline double uniform_between(CounterRng& rng, double low, double high) { return low + (high - low) * rng.uniform(); }

/// low and high are both possible.
inline int64_t integer_between(CounterRng& rng, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(rng.below(static_cast<uint64_t>(high - low) + 1));
}

inline bool happens(CounterRng& rng, double probability) { return rng.uniform() < probability; }

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
