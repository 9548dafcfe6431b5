// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "data/transforms/pillow_ops.h"

namespace fib {
namespace {

/// The cubic convolution with a = −1 through four values, at distance d behind the second.
double cubic(double v1, double v2, double v3, double v4, double d) {
  const double p2 = -v1 + v3, p3 = 2 * (v1 - v2) + v3 - v4, p4 = -v1 + v2 - v3 + v4;
  return v2 + d * (p2 + d * (p3 + d * p4));
}

/// Four neighbours along one axis, those beyond the border replaced by the border, and the place between the middle
/// two.
struct CubicTaps {
  std::array<std::ptrdiff_t, 4> at;
  double between;
};

CubicTaps taps(double position, int64_t size, std::ptrdiff_t stride) {
  const double centred = position - 0.5, whole = std::floor(centred);
  CubicTaps result{{}, centred - whole};
  for (int64_t i = 0; i < 4; ++i)
    result.at[static_cast<size_t>(i)] = std::clamp<int64_t>(static_cast<int64_t>(whole) - 1 + i, 0, size - 1) * stride;
  return result;
}

uint8_t sample(const uint8_t* channel, const CubicTaps& x, const CubicTaps& y) {
  double rows[4];
  for (size_t i = 0; i < 4; ++i) {
    const uint8_t* row = channel + y.at[i];
    rows[i] = cubic(row[x.at[0]], row[x.at[1]], row[x.at[2]], row[x.at[3]], x.between);
  }
  return static_cast<uint8_t>(std::clamp(cubic(rows[0], rows[1], rows[2], rows[3], y.between), 0.0, 255.0));
}

/// Python's round(x, 15): to the nearest decimal, which needs the exact digits.
double rounded_to_15_digits(double x) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, x, std::chars_format::fixed, 15).ptr;
  double value = 0;
  std::from_chars(text, end, value);
  return value;
}

}  // namespace

Image warped(const Image& image, const Affine& map, const Fill& fill) {
  Image result = make_image(image.width, image.height);
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  uint8_t* out = result.pixels.data();
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x, out += 3) {
      const double from_x = map.a * (static_cast<double>(x) + 0.5) + map.b * (static_cast<double>(y) + 0.5) + map.c;
      const double from_y = map.d * (static_cast<double>(x) + 0.5) + map.e * (static_cast<double>(y) + 0.5) + map.f;
      if (!(from_x >= 0 && from_x < width && from_y >= 0 && from_y < height)) {
        std::ranges::copy(fill, out);
        continue;
      }
      const CubicTaps tx = taps(from_x, image.width, 3);
      const CubicTaps ty = taps(from_y, image.height, 3 * image.width);
      for (int c = 0; c < 3; ++c) out[c] = sample(image.pixels.data() + c, tx, ty);
    }
  }
  return result;
}

Image rotated(const Image& image, double degrees, const Fill& fill) {
  const double turn = std::fmod(std::fmod(degrees, 360) + 360, 360);
  if (turn == 0) return image;
  const double radians = -turn * (std::numbers::pi / 180);
  const double cosine = rounded_to_15_digits(std::cos(radians)), sine = rounded_to_15_digits(std::sin(radians));
  const double cx = static_cast<double>(image.width) / 2, cy = static_cast<double>(image.height) / 2;
  Affine map{cosine, sine, 0, rounded_to_15_digits(-std::sin(radians)), cosine, 0};
  map.c = map.a * -cx + map.b * -cy + 0.0 + cx;
  map.f = map.d * -cx + map.e * -cy + 0.0 + cy;
  return warped(image, map, fill);
}

}  // namespace fib
