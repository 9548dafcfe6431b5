// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/rng.h"
#include "data/corruptions/filters.h"
#include "data/corruptions/kinds.h"

namespace fib::corruptions {
namespace {

/// What a file of bytes would keep of it.
FloatImage in_bytes(const FloatImage& image) { return to_float(to_bytes(image)); }

void copy_pixel(FloatImage& image, int y, int x, int from_y, int from_x) {
  for (int c = 0; c < image.channels; ++c) image.at(y, x, c) = image.at(from_y, from_x, c);
}

}  // namespace

FloatImage gaussian_blur(const FloatImage& image, int severity, Draw /*draw*/) {
  constexpr std::array kSigma = {.4, .6, .7, .8, 1.0};
  return gaussian(image, kSigma[static_cast<size_t>(severity)]);
}

/// Each pixel becomes itself or a neighbour above or to the left. The published program means to swap the two, but what
/// it assigns are NumPy's views of one array: the first assignment changes what the second reads, and a copy is left.
/// The published images have it so.
FloatImage glass_blur(const FloatImage& image, int severity, Draw draw) {
  struct Level {
    double sigma;
    int rounds;
  };
  constexpr std::array<Level, 5> kLevels = {{{.05, 1}, {.25, 1}, {.4, 1}, {.25, 2}, {.4, 2}}};
  const auto [sigma, rounds] = kLevels[static_cast<size_t>(severity)];
  FloatImage glass = in_bytes(gaussian(image, sigma));
  for (int round = 0; round < rounds; ++round) {
    for (int y = image.height - 1; y > 1; --y) {
      for (int x = image.width - 1; x > 1; --x) {
        const auto dx = static_cast<int>(integer_between(draw.rng, -1, 0));
        const auto dy = static_cast<int>(integer_between(draw.rng, -1, 0));
        copy_pixel(glass, y, x, y + dy, x + dx);
      }
    }
  }
  return gaussian(glass, sigma);
}

FloatImage defocus_blur(const FloatImage& image, int severity, Draw /*draw*/) {
  struct Level {
    double radius, alias;
  };
  constexpr std::array<Level, 5> kLevels = {{{.3, .4}, {.4, .5}, {.5, .6}, {1, .2}, {1.5, .1}}};
  const auto [radius, alias] = kLevels[static_cast<size_t>(severity)];
  return filtered(image, defocus_kernel(radius, alias));
}

FloatImage motion_blur(const FloatImage& image, int severity, Draw draw) {
  struct Level {
    int radius;
    double sigma;
  };
  constexpr std::array<Level, 5> kLevels = {{{6, 1}, {6, 1.5}, {6, 2}, {8, 2}, {9, 2.5}}};
  const auto [radius, sigma] = kLevels[static_cast<size_t>(severity)];
  return motion_blurred(image, radius, sigma, uniform_between(draw.rng, -45, 45));
}

FloatImage zoom_blur(const FloatImage& image, int severity, Draw /*draw*/) {
  const int zooms = 6 + 5 * severity;  // 1.00 to 1.05, 1.10, …
  FloatImage sum = image;
  for (int z = 0; z < zooms; ++z) {
    const FloatImage one = zoomed(image, 1 + 0.01 * z);
    for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += one.values[i];
  }
  for (double& v : sum.values) v /= zooms + 1;
  return sum;
}

}  // namespace fib::corruptions
