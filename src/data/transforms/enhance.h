// SPDX-License-Identifier: Apache-2.0
// Pillow's ImageEnhance: a blend of the image with a version that lacks what is enhanced. Factor 1 is the image itself,
// 0 the version without, above 1 exaggerates. Results are Pillow's to the bit.
#pragma once

#include <array>

#include "base/rng.h"
#include "data/images/image.h"

namespace fib {

/// Luma by ITU-R 601-2 in 16 fractional bits, rounded; a grey pixel keeps its value.
inline uint8_t grey_of(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

/// Against its grey version.
void enhance_color(Image& image, double factor);
/// Against the mean of its grey version.
void enhance_contrast(Image& image, double factor);
/// Against black.
void enhance_brightness(Image& image, double factor);
/// Against its smoothed version.
void enhance_sharpness(Image& image, double factor);

/// Color jitter: brightness, contrast and saturation each multiplied by a factor drawn around one, in random order.
/// What one image gets: the factors of brightness, contrast and saturation, and the order they are applied in.
struct Jitter {
  std::array<double, 3> factors = {1, 1, 1};
  std::array<int, 3> order = {0, 1, 2};
};

/// Factors are uniform in [max(0, 1 − strength), 1 + strength].
Jitter draw_jitter(double strength, CounterRng& rng);
void apply_jitter(Image& image, const Jitter& jitter);

}  // namespace fib
