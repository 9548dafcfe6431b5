// SPDX-License-Identifier: Apache-2.0
// Method, as Pillow documents it: two passes, horizontal then vertical. An output pixel is the weighted mean of the
// input pixels under the filter kernel, which is widened by the scale when shrinking. Weights are computed in double,
// normalized, and rounded to 22-bit fixed point: 8 bits are the pixel's and 2 are left for sums of weights beyond one.
#include "data/images/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

namespace fib {

namespace {

constexpr int kPrecisionBits = 32 - 8 - 2;

double box_weight(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double bilinear_weight(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

/// Keys' cubic with a = -0.5.
double bicubic_weight(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double sinc(double x) { return x == 0.0 ? 1.0 : std::sin(x * std::numbers::pi) / (x * std::numbers::pi); }

double lanczos_weight(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

struct FilterKernel {
  double (*weight)(double);
  double support;  ///< the weight is zero beyond this distance
};

FilterKernel kernel_of(Filter filter) {
  switch (filter) {
    case Filter::box:
      return {box_weight, 0.5};
    case Filter::bilinear:
      return {bilinear_weight, 1.0};
    case Filter::bicubic:
      return {bicubic_weight, 2.0};
    case Filter::lanczos:
      return {lanczos_weight, 3.0};
  }
  throw std::invalid_argument("resize: unknown filter");
}

/// One side of the image: `in` pixels become `out`, of which [begin, begin + count) are wanted.
struct Axis {
  int64_t in, out, begin, count;
};

/// The input pixels [first, first + weights) of one output pixel.
struct Taps {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<int32_t> fixed_point(const std::vector<double>& weights) {
  double sum = 0.0;
  for (const double weight : weights) sum += weight;
  std::vector<int32_t> result;
  for (const double weight : weights) {
    const double scaled = (sum == 0.0 ? weight : weight / sum) * (1 << kPrecisionBits);
    result.push_back(static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
  }
  return result;
}

std::vector<Taps> taps_of(const Axis& axis, Filter filter) {
  const FilterKernel kernel = kernel_of(filter);
  const double scale = static_cast<double>(axis.in) / static_cast<double>(axis.out);
  const double widening = std::max(scale, 1.0);
  const double support = kernel.support * widening;
  std::vector<Taps> result(static_cast<size_t>(axis.count));
  for (size_t i = 0; i < result.size(); ++i) {
    const double center = (static_cast<double>(axis.begin) + static_cast<double>(i) + 0.5) * scale;
    const auto first = static_cast<int64_t>(std::max(center - support + 0.5, 0.0));
    const auto last = std::min(static_cast<int64_t>(center + support + 0.5), axis.in);
    std::vector<double> weights;
    for (int64_t x = first; x < last; ++x)
      weights.push_back(kernel.weight((static_cast<double>(x) - center + 0.5) * (1.0 / widening)));
    result[i] = {first, fixed_point(weights)};
  }
  return result;
}

constexpr int32_t kHalf = 1 << (kPrecisionBits - 1);

uint8_t to_pixel(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kPrecisionBits, 0, 255)); }

void horizontal_row(const uint8_t* source, const std::vector<Taps>& columns, uint8_t* target) {
  for (const Taps& taps : columns) {
    const uint8_t* pixel = source + 3 * taps.first;
    int32_t red = kHalf, green = kHalf, blue = kHalf;
    for (const int32_t weight : taps.weights) {
      red += pixel[0] * weight;
      green += pixel[1] * weight;
      blue += pixel[2] * weight;
      pixel += 3;
    }
    target[0] = to_pixel(red);
    target[1] = to_pixel(green);
    target[2] = to_pixel(blue);
    target += 3;
  }
}

/// Rows are added as a whole, which the compiler vectorises.
void vertical_row(const Image& source, int64_t first_row, const Taps& taps, std::vector<int32_t>& sums,
                  uint8_t* target) {
  std::ranges::fill(sums, kHalf);
  for (size_t k = 0; k < taps.weights.size(); ++k) {
    const uint8_t* row = source.row(taps.first - first_row + static_cast<int64_t>(k));
    const int32_t weight = taps.weights[k];
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += row[i] * weight;
  }
  std::ranges::transform(sums, target, to_pixel);
}

/// The wanted columns of input rows [first, last).
Image horizontal_pass(const Image& image, const Axis& axis, int64_t first, int64_t last, Filter filter) {
  Image result = make_image(axis.count, last - first);
  const std::vector<Taps> columns = taps_of(axis, filter);
  for (int64_t y = first; y < last; ++y) horizontal_row(image.row(y), columns, result.row(y - first));
  return result;
}

void check(const Image& image, ImageSize size, Region region) {
  const auto text = [](int64_t w, int64_t h) { return std::to_string(w) + "×" + std::to_string(h); };
  if (image.width < 1 || image.height < 1 || size.width < 1 || size.height < 1)
    throw std::invalid_argument("resize: " + text(image.width, image.height) + " to " + text(size.width, size.height) +
                                ", sides must be positive");
  if (region.x < 0 || region.y < 0 || region.width < 1 || region.height < 1 || region.width > size.width - region.x ||
      region.height > size.height - region.y)
    throw std::invalid_argument("resize: region " + text(region.width, region.height) + " at " +
                                std::to_string(region.x) + "," + std::to_string(region.y) + " is not inside " +
                                text(size.width, size.height));
}

}  // namespace

Image resize(const Image& image, ImageSize size, Filter filter) {
  return resize_region(image, size, {0, 0, size.width, size.height}, filter);
}

Image resize_region(const Image& image, ImageSize size, Region region, Filter filter) {
  check(image, size, region);
  const std::vector<Taps> rows = taps_of({image.height, size.height, region.y, region.height}, filter);
  const int64_t first = rows.front().first;
  const int64_t last = rows.back().first + static_cast<int64_t>(rows.back().weights.size());
  const Image narrow = horizontal_pass(image, {image.width, size.width, region.x, region.width}, first, last, filter);
  Image result = make_image(region.width, region.height);
  std::vector<int32_t> sums(static_cast<size_t>(region.width) * 3);
  for (int64_t y = 0; y < region.height; ++y)
    vertical_row(narrow, first, rows[static_cast<size_t>(y)], sums, result.row(y));
  return result;
}

// ---- The part of an image that a model is evaluated on

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
