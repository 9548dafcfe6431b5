// SPDX-License-Identifier: Apache-2.0
// Pillow's operations that map each byte through a table of its channel: results are Pillow's to the bit.
#pragma once

#include "data/images/image.h"

namespace fib {

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

}  // namespace fib
