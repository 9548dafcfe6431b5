// SPDX-License-Identifier: Apache-2.0
// The part of an image that a model is evaluated on, by the rules of torchvision and timm.
#pragma once

#include <cstdint>

#include "data/images/image.h"
#include "data/images/resize.h"

namespace fib {

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
