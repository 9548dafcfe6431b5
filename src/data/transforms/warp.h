// SPDX-License-Identifier: Apache-2.0
// Pillow's Image.transform and rotate with resample BICUBIC: a cubic through the 4 × 4 nearest pixels, without
// antialiasing, in double precision; results are Pillow's to the bit.
#pragma once

#include <array>
#include <cstdint>

#include "data/images/image.h"

namespace fib {

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
