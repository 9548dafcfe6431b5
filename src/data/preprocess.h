// SPDX-License-Identifier: Apache-2.0
// From a picture to the numbers a model takes, by the rules of torchvision and timm.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "data/images/image.h"
#include "data/images/resize.h"

namespace fib {

/// The defaults are those of the ImageNet weights of timm's vit_*_patch16_224.
struct Preprocess {
  int64_t resize_shorter = 248;  ///< the shorter side afterwards; the longer one follows, rounded down
  int64_t crop = 224;            ///< side of the square cut from the centre, at most resize_shorter
  Filter filter = Filter::bicubic;
  std::array<float, 3> mean{0.5f, 0.5f, 0.5f};
  std::array<float, 3> std{0.5f, 0.5f, 0.5f};
};

/// The whole picture's size after its shorter side became `shorter`.
ImageSize resized_size(ImageSize size, int64_t shorter);
/// Where a centred square of `crop` begins on a side; halves go to the even number, as Python's round does.
int64_t centre_crop_begin(int64_t side, int64_t crop);

Image resize_and_crop(const Image& image, const Preprocess& options);

/// (x / 255 - mean) / std into [3, crop, crop]. Throws std::invalid_argument for impossible options or another length.
void preprocess(const Image& image, const Preprocess& options, std::span<float> output);

}  // namespace fib
