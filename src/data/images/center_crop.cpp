// SPDX-License-Identifier: Apache-2.0
#include "data/images/center_crop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace fib {

ImageSize resized_size(ImageSize size, int64_t shorter) {
  const auto [low, high] = std::minmax(size.width, size.height);
  const int64_t longer = shorter * high / low;
  return size.width <= size.height ? ImageSize{shorter, longer} : ImageSize{longer, shorter};
}

int64_t center_crop_begin(int64_t side, int64_t crop) {
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(side - crop) / 2.0));
}

Image resize_and_crop(const Image& image, const CenterCrop& options) {
  if (options.crop < 1 || options.crop > options.resize_shorter)
    throw std::invalid_argument(
        fmt::format("crop {}, accepted is 1 to {}, the side resized to", options.crop, options.resize_shorter));
  const ImageSize size = resized_size({image.width, image.height}, options.resize_shorter);
  const Region center{center_crop_begin(size.width, options.crop), center_crop_begin(size.height, options.crop),
                      options.crop, options.crop};
  return resize_region(image, size, center, Filter::bicubic);
}

}  // namespace fib
