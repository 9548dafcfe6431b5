// SPDX-License-Identifier: Apache-2.0
// Which part of an image is taken, mirrored or erased.
#pragma once

#include <optional>
#include <utility>

#include "base/rng.h"
#include "data/images/image.h"
#include "data/images/resize.h"

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

/// Random erasing: the box of the normalized image that becomes noise. Ten draws of an area in [0.02, 1/3] of the image
/// and a ratio with logarithm in [log 0.3, log 1/0.3]; none if no box is smaller than the image on both sides.
std::optional<Region> draw_erased_box(ImageSize size, CounterRng& rng);

/// N(0, 1) for every value in the box; values: channels × height × width.
void fill_with_noise(float* values, int channels, ImageSize size, const Region& box, CounterRng& rng);

}  // namespace fib
