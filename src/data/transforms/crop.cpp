// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/crop.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/rng.h"

namespace fib {
namespace {

/// To nearest, ties to even, as Python rounds; never empty.
int64_t rounded_side(double side) { return std::max<int64_t>(1, std::llrint(side)); }

Region centred(ImageSize size, int64_t width, int64_t height) {
  return {(size.width - width) / 2, (size.height - height) / 2, width, height};
}

Region largest_in_range(ImageSize size, const std::pair<double, double>& ratio) {
  const auto width = static_cast<double>(size.width), height = static_cast<double>(size.height);
  if (width / height < ratio.first)
    return centred(size, size.width, std::min(size.height, rounded_side(width / ratio.first)));
  if (width / height > ratio.second)
    return centred(size, std::min(size.width, rounded_side(height * ratio.second)), size.height);
  return {0, 0, size.width, size.height};
}

}  // namespace

Region draw_resized_crop(ImageSize size, const ResizedCropRange& range, CounterRng& rng) {
  const double low = std::log(range.ratio.first), high = std::log(range.ratio.second);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area =
        uniform_between(rng, range.scale.first, range.scale.second) * static_cast<double>(size.width * size.height);
    const double ratio = std::exp(uniform_between(rng, low, high));
    const int64_t width = rounded_side(std::sqrt(area * ratio)), height = rounded_side(std::sqrt(area / ratio));
    if (width > size.width || height > size.height) continue;
    const int64_t y = integer_between(rng, 0, size.height - height);
    return {integer_between(rng, 0, size.width - width), y, width, height};
  }
  return largest_in_range(size, range.ratio);
}

Image cropped(const Image& image, const Region& box) {
  Image part = make_image(box.width, box.height);
  for (int64_t y = 0; y < box.height; ++y) std::copy_n(image.row(box.y + y) + 3 * box.x, 3 * box.width, part.row(y));
  return part;
}

Image pad_cropped(const Image& image, int padding, CounterRng& rng) {
  const int64_t down = integer_between(rng, -padding, padding), right = integer_between(rng, -padding, padding);
  Image moved = make_image(image.width, image.height);
  const int64_t height = image.height - std::abs(down), width = image.width - std::abs(right);
  if (width <= 0) return moved;
  for (int64_t y = 0; y < height; ++y)
    std::copy_n(image.row(y + std::max<int64_t>(0, -down)) + 3 * std::max<int64_t>(0, -right), 3 * width,
                moved.row(y + std::max<int64_t>(0, down)) + 3 * std::max<int64_t>(0, right));
  return moved;
}

void flip_horizontally(Image& image) {
  for (int64_t y = 0; y < image.height; ++y) {
    uint8_t* const row = image.row(y);
    for (int64_t l = 0, r = image.width - 1; l < r; ++l, --r)
      std::swap_ranges(row + 3 * l, row + 3 * l + 3, row + 3 * r);
  }
}

std::optional<Region> draw_erased_box(ImageSize size, CounterRng& rng) {
  const double log_ratio = std::log(1 / 0.3);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = uniform_between(rng, 0.02, 1.0 / 3) * static_cast<double>(size.width * size.height);
    const double ratio = std::exp(uniform_between(rng, -log_ratio, log_ratio));
    const int64_t height = std::llrint(std::sqrt(area * ratio)), width = std::llrint(std::sqrt(area / ratio));
    if (width >= size.width || height >= size.height) continue;
    const int64_t y = integer_between(rng, 0, size.height - height);
    return Region{integer_between(rng, 0, size.width - width), y, width, height};
  }
  return std::nullopt;
}

void fill_with_noise(float* values, int channels, ImageSize size, const Region& box, CounterRng& rng) {
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t y = box.y; y < box.y + box.height; ++y) {
      float* const row = values + (c * size.height + y) * size.width;
      for (int64_t x = box.x; x < box.x + box.width; ++x) row[x] = static_cast<float>(standard_normal(rng));
    }
}

}  // namespace fib
