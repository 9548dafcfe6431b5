// SPDX-License-Identifier: Apache-2.0
// Pillow's operations on images, to the bit: what RandAugment and color jitter are made of.
#pragma once

#include <array>
#include <cstdint>

#include "base/rng.h"
#include "data/images/image.h"

namespace fib {

// ---- Each byte through a table of its channel

/// Stretches each channel so that its darkest value becomes 0 and its lightest 255.
void autocontrast(Image& image);
/// Spreads each channel's values evenly over 0 to 255.
void equalize(Image& image);
void invert(Image& image);
/// Keeps the highest bits of every value; 8 or more keep all, 0 leaves black.
void posterize(Image& image, int bits);
/// Inverts values at or above the threshold.
void solarize(Image& image, int threshold);
/// Adds to values below 128, up to 255.
void solarize_add(Image& image, int add);

// ---- ImageEnhance: a blend of the image with a version that lacks what is enhanced. Factor 1 is the image itself, 0
// the version without, above 1 exaggerates

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

// ---- Image.transform and rotate with resample BICUBIC: a cubic through the 4 × 4 nearest pixels, without
// antialiasing, in double precision

/// Where a pixel of the result comes from: x' = a x + b y + c, y' = d x + e y + f, in units of pixels with centres at
/// .5.
struct Affine {
  double a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;
};

/// What a pixel becomes that comes from outside of the image, per channel.
using Fill = std::array<uint8_t, 3>;

Image warped(const Image& image, const Affine& map, const Fill& fill);
/// Counter-clockwise about the centre.
Image rotated(const Image& image, double degrees, const Fill& fill);

}  // namespace fib
