// SPDX-License-Identifier: Apache-2.0
// Antialiased resizing with the results of Pillow's Image.resize, bit by bit: what the weights people have were trained
// with. (OpenCV's interpolation looks at a fixed number of neighbours and aliases when it shrinks.)
#pragma once

#include <cstdint>

#include "data/images/image.h"

namespace fib {

enum class Filter { box, bilinear, bicubic, lanczos };

/// A rectangle of pixels.
struct Region {
  int64_t x = 0, y = 0;
  int64_t width = 0, height = 0;
};

Image resize(const Image& image, ImageSize size, Filter filter);

/// Only this region of the image resized to `size`: the same pixels for less work, and a strip of 1×100,000 pixels does
/// not become a gigabyte on the way to its centre. Throws std::invalid_argument unless the region lies inside.
Image resize_region(const Image& image, ImageSize size, Region region, Filter filter);

}  // namespace fib
