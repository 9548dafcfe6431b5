// SPDX-License-Identifier: Apache-2.0
// Which part of an image is taken, and where it is mirrored.
#pragma once

#include <utility>

#include "base/rng.h"
#include "data/image.h"
#include "data/resize.h"

namespace fib {

struct ResizedCropRange {
  std::pair<double, double> scale = {0.08, 1};    ///< of the image's area
  std::pair<double, double> ratio = {0.67, 1.5};  ///< width over height
};

/// Random resized crop: up to ten draws of an area (uniform) and a ratio (uniform in its logarithm) until the box fits;
/// then the largest centred box whose ratio is in range.
Region draw_resized_crop(ImageSize size, const ResizedCropRange& range, CounterRng& rng);

Image cropped(const Image& image, const Region& box);

/// The image moved by up to `padding` pixels each way, at its own size, with black where nothing is.
Image pad_cropped(const Image& image, int padding, CounterRng& rng);

void flip_horizontally(Image& image);

}  // namespace fib
