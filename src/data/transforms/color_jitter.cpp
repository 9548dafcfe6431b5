// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/color_jitter.h"

#include <algorithm>

#include "data/random.h"
#include "data/transforms/enhance.h"

namespace fib {

Jitter draw_jitter(double strength, CounterRng& rng) {
  Jitter jitter;
  for (double& factor : jitter.factors) factor = uniform_between(rng, std::max(0.0, 1 - strength), 1 + strength);
  for (size_t i = 3; i > 1; --i) std::swap(jitter.order[i - 1], jitter.order[rng.below(i)]);
  return jitter;
}

void apply_jitter(Image& image, const Jitter& jitter) {
  constexpr void (*kOps[])(Image&, double) = {enhance_brightness, enhance_contrast, enhance_color};
  for (int op : jitter.order) kOps[op](image, jitter.factors[static_cast<size_t>(op)]);
}

}  // namespace fib
