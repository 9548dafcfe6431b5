// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "data/transforms/pillow_ops.h"

namespace fib {
namespace {

/// Pillow blends in single precision and cuts the fraction off.
uint8_t blended(uint8_t without, uint8_t with, float factor) {
  const float value = static_cast<float>(without) + factor * static_cast<float>(with - without);
  return static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F));
}

/// The blend with one value as a table of all bytes: images have more pixels than a table has entries.
void blend_with_value(Image& image, uint8_t without, float factor) {
  std::array<uint8_t, 256> table;
  for (size_t v = 0; v < 256; ++v) table[v] = blended(without, static_cast<uint8_t>(v), factor);
  for (uint8_t& value : image.pixels) value = table[value];
}

uint8_t mean_grey(const Image& image) {
  int64_t sum = 0;
  for (size_t i = 0; i < image.pixels.size(); i += 3) sum += grey_of(&image.pixels[i]);
  return static_cast<uint8_t>(static_cast<double>(sum) / static_cast<double>(image.width * image.height) + 0.5);
}

/// The 3 × 3 kernel 1 1 1, 1 5 1, 1 1 1 over 13, in single precision and Pillow's order of additions, rounded.
uint8_t smoothed(const uint8_t* centre, std::ptrdiff_t row, std::ptrdiff_t step) {
  constexpr float kSide = 1.0F / 13, kCentre = 5.0F / 13;
  const auto triple = [step](const uint8_t* p, float middle) {
    return static_cast<float>(p[-step]) * kSide + static_cast<float>(*p) * middle + static_cast<float>(p[step]) * kSide;
  };
  float sum = 0.5F;
  sum += triple(centre + row, kSide);
  sum += triple(centre, kCentre);
  sum += triple(centre - row, kSide);
  return static_cast<uint8_t>(std::clamp(sum, 0.0F, 255.0F));
}

}  // namespace

void enhance_color(Image& image, double factor) {
  if (factor == 1) return;
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    const uint8_t grey = grey_of(&image.pixels[i]);
    for (size_t c = 0; c < 3; ++c) image.pixels[i + c] = blended(grey, image.pixels[i + c], static_cast<float>(factor));
  }
}

void enhance_contrast(Image& image, double factor) {
  if (factor == 1 || image.pixels.empty()) return;
  blend_with_value(image, mean_grey(image), static_cast<float>(factor));
}

void enhance_brightness(Image& image, double factor) {
  if (factor != 1) blend_with_value(image, 0, static_cast<float>(factor));
}

void enhance_sharpness(Image& image, double factor) {
  // The border has no smoothed version: Pillow copies it.
  if (factor == 1 || image.height < 3 || image.width < 3) return;
  const std::vector<uint8_t> original = image.pixels;
  const std::ptrdiff_t step = 3, row = step * image.width;
  for (int64_t y = 1; y < image.height - 1; ++y) {
    for (std::ptrdiff_t i = y * row + step; i < (y + 1) * row - step; ++i) {
      const auto at = static_cast<size_t>(i);
      image.pixels[at] = blended(smoothed(&original[at], row, step), original[at], static_cast<float>(factor));
    }
  }
}

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
