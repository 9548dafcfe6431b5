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

// ---- The part of an image that a model is evaluated on, by the rules of torchvision and timm

/// Of an image whose shorter side became `resize_shorter` (the longer one follows, rounded down), the square in its
/// centre with sides `crop`, at most `resize_shorter`.
struct CenterCrop {
  int64_t resize_shorter = 248;
  int64_t crop = 224;
};

/// The whole image's size after its shorter side became `shorter`.
ImageSize resized_size(ImageSize size, int64_t shorter);
/// Where a centered square of `crop` begins on a side; halves go to the even number, as Python's round does.
int64_t center_crop_begin(int64_t side, int64_t crop);

/// Bicubic. Throws std::invalid_argument for a crop that does not fit.
Image resize_and_crop(const Image& image, const CenterCrop& options);

}  // namespace fib
