// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/random_erasing.h"

#include <cmath>

#include "data/random.h"

namespace fib {

std::optional<Region> draw_erased_box(ImageSize size, CounterRng& rng) {
  const double log_ratio = std::log(1 / 0.3);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = uniform_between(rng, 0.02, 1.0 / 3) * static_cast<double>(size.width * size.height);
    const double ratio = std::exp(uniform_between(rng, -log_ratio, log_ratio));
    const int64_t height = std::llrint(std::sqrt(area * ratio)), width = std::llrint(std::sqrt(area / ratio));
    if (width >= size.width || height >= size.height) continue;
    const int64_t y = integer_between(rng, 0, size.height - height);
    return Region{integer_between(rng, 0, size.width - width), y, width, height};
  }
  return std::nullopt;
}

void fill_with_noise(float* values, int channels, ImageSize size, const Region& box, CounterRng& rng) {
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t y = box.y; y < box.y + box.height; ++y) {
      float* const row = values + (c * size.height + y) * size.width;
      for (int64_t x = box.x; x < box.x + box.width; ++x) row[x] = static_cast<float>(standard_normal(rng));
    }
}

}  // namespace fib
