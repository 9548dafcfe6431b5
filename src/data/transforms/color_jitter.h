// SPDX-License-Identifier: Apache-2.0
// Colour jitter: brightness, contrast and saturation each multiplied by a factor drawn around one, in random order.
#pragma once

#include <array>
#include <utility>

#include "base/rng.h"
#include "data/image.h"

namespace fib {

/// What one image gets: the factors of brightness, contrast and saturation, and the order they are applied in.
struct Jitter {
  std::array<double, 3> factors = {1, 1, 1};
  std::array<int, 3> order = {0, 1, 2};
};

/// Factors are uniform in [max(0, 1 − strength), 1 + strength].
Jitter draw_jitter(double strength, CounterRng& rng);
void apply_jitter(Image& image, const Jitter& jitter);

}  // namespace fib
