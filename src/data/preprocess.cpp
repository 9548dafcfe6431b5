// SPDX-License-Identifier: Apache-2.0
#include "data/preprocess.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace fib {
namespace {

void check(const Preprocess& options) {
  if (options.crop < 1 || options.crop > options.resize_shorter)
    throw std::invalid_argument("preprocess: crop " + std::to_string(options.crop) + ", accepted is 1 to " +
                                std::to_string(options.resize_shorter) + ", the side resized to");
}

/// What each of the 256 grey levels becomes, in the order of float operations that torchvision uses.
std::array<float, 256> level_table(float mean, float std) {
  std::array<float, 256> table{};
  for (size_t level = 0; level < table.size(); ++level)
    table[level] = (static_cast<float>(level) / 255.0f - mean) / std;
  return table;
}

}  // namespace

ImageSize resized_size(ImageSize size, int64_t shorter) {
  const auto [low, high] = std::minmax(size.width, size.height);
  const int64_t longer = shorter * high / low;
  return size.width <= size.height ? ImageSize{shorter, longer} : ImageSize{longer, shorter};
}

int64_t centre_crop_begin(int64_t side, int64_t crop) {
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(side - crop) / 2.0));
}

Image resize_and_crop(const Image& image, const Preprocess& options) {
  check(options);
  const ImageSize size = resized_size({image.width, image.height}, options.resize_shorter);
  const Region centre{centre_crop_begin(size.width, options.crop), centre_crop_begin(size.height, options.crop),
                      options.crop, options.crop};
  return resize_region(image, size, centre, options.filter);
}

void preprocess(const Image& image, const Preprocess& options, std::span<float> output) {
  const auto plane = static_cast<size_t>(options.crop * options.crop);
  if (output.size() != 3 * plane)
    throw std::invalid_argument("preprocess: room for " + std::to_string(output.size()) + " values, needed are " +
                                std::to_string(3 * plane));
  const Image square = resize_and_crop(image, options);
  for (size_t c = 0; c < 3; ++c) {
    const auto table = level_table(options.mean[c], options.std[c]);
    float* const target = output.data() + c * plane;
    for (size_t i = 0; i < plane; ++i) target[i] = table[square.pixels[3 * i + c]];
  }
}

}  // namespace fib
