// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/mixup.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "base/rng.h"

namespace fib {
namespace {

void blend_pair(float* a, float* b, size_t values, float lambda) {
  for (size_t i = 0; i < values; ++i) {
    const float own = a[i], other = b[i];
    a[i] = own * lambda + other * (1 - lambda);
    b[i] = other * lambda + own * (1 - lambda);
  }
}

void swap_box(float* a, float* b, int64_t channels, ImageSize size, const Region& box) {
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t y = box.y; y < box.y + box.height; ++y) {
      const int64_t begin = (c * size.height + y) * size.width + box.x;
      std::swap_ranges(a + begin, a + begin + box.width, b + begin);
    }
}

}  // namespace

Region cutmix_box(double lambda, ImageSize size, int64_t centre_x, int64_t centre_y) {
  const auto half = [&](int64_t side) {
    return static_cast<int64_t>(static_cast<double>(side) * std::sqrt(1 - lambda)) / 2;
  };
  const int64_t half_width = half(size.width), half_height = half(size.height);
  const int64_t x = std::max<int64_t>(centre_x - half_width, 0), y = std::max<int64_t>(centre_y - half_height, 0);
  return {x, y, std::min(centre_x + half_width, size.width) - x, std::min(centre_y + half_height, size.height) - y};
}

Mix draw_mix(const MixOptions& options, ImageSize size, CounterRng& rng) {
  if (!options.enabled() || !bernoulli(rng, options.probability)) return {};
  const bool both = options.mixup_alpha > 0 && options.cutmix_alpha > 0;
  const bool cutmix = both ? bernoulli(rng, options.switch_probability) : options.cutmix_alpha > 0;
  const double lambda = symmetric_beta(rng, cutmix ? options.cutmix_alpha : options.mixup_alpha);
  if (!cutmix) return {Mix::Kind::mixup, lambda, {}};
  const int64_t y = integer_between(rng, 0, size.height - 1);
  const Region box = cutmix_box(lambda, size, integer_between(rng, 0, size.width - 1), y);
  const double taken = static_cast<double>(box.width * box.height) / static_cast<double>(size.width * size.height);
  return {Mix::Kind::cutmix, 1 - taken, box};
}

void mix_images(std::span<float> images, size_t batch, ImageSize size, const Mix& mix) {
  if (mix.kind == Mix::Kind::none) return;
  if (batch == 0 || batch % 2 != 0)
    throw std::invalid_argument("mixup of " + std::to_string(batch) + " images: accepted is an even number");
  const size_t values = images.size() / batch;
  const int64_t channels = static_cast<int64_t>(values) / (size.width * size.height);
  for (size_t i = 0; i < batch / 2; ++i) {
    float *a = &images[i * values], *b = &images[mix_partner(i, batch) * values];
    if (mix.kind == Mix::Kind::mixup) blend_pair(a, b, values, static_cast<float>(mix.lambda));
    if (mix.kind == Mix::Kind::cutmix) swap_box(a, b, channels, size, mix.box);
  }
}

std::vector<float> mixed_targets(std::span<const int64_t> labels, int64_t classes, double smoothing, const Mix& mix) {
  const size_t width = static_cast<size_t>(classes);
  const double off = smoothing / static_cast<double>(classes), on = 1 - smoothing;
  std::vector<float> targets(labels.size() * width, static_cast<float>(off));
  for (size_t i = 0; i < labels.size(); ++i) {
    float* row = &targets[i * width];
    const auto own = static_cast<size_t>(labels[i]), other = static_cast<size_t>(labels[mix_partner(i, labels.size())]);
    row[own] += static_cast<float>(on * mix.lambda);
    row[other] += static_cast<float>(on * (1 - mix.lambda));
  }
  return targets;
}

}  // namespace fib
