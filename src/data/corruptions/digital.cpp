// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "base/rng.h"
#include "data/corruptions/filters.h"
#include "data/corruptions/kinds.h"
#include "data/images/resize.h"

namespace fib::corruptions {
namespace {

/// The map that takes three corners of the middle to places moved at random by up to `reach` pixels, inverted: from a
/// pixel of the result to where it comes from.
cv::Matx23d drawn_affine(const FloatImage& image, double reach, CounterRng& rng) {
  const int middle_x = image.width / 2, middle_y = image.height / 2, third = std::min(image.height, image.width) / 3;
  const auto x = static_cast<float>(middle_x), y = static_cast<float>(middle_y), d = static_cast<float>(third);
  const std::array<cv::Point2f, 3> from = {{{x + d, y + d}, {x + d, y - d}, {x - d, y - d}}};
  std::array<cv::Point2f, 3> to = from;
  for (cv::Point2f& p : to)
    p += cv::Point2f(static_cast<float>(uniform_between(rng, -reach, reach)),
                     static_cast<float>(uniform_between(rng, -reach, reach)));
  return cv::getAffineTransform(to, from);
}

FloatImage warped(const FloatImage& image, const cv::Matx23d& map) {
  FloatImage result(image.height, image.width, image.channels);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const cv::Vec2d from = map * cv::Vec3d(x, y, 1);
      for (int c = 0; c < image.channels; ++c)
        result.at(y, x, c) = sampled(image, from[1], from[0], c, Border::mirror_101);
    }
  }
  return result;
}

FloatImage displacement(const FloatImage& like, double alpha, double sigma, CounterRng& rng) {
  FloatImage field(like.height, like.width, 1);
  for (double& v : field.values) v = uniform_between(rng, -1, 1);
  field = gaussian(field, sigma, 3, Border::mirror);
  for (double& v : field.values) v *= alpha;
  return field;
}

}  // namespace

FloatImage brightness(const FloatImage& image, int severity, Draw /*draw*/) {
  constexpr std::array kMore = {.05, .1, .15, .2, .3};
  FloatImage result = image;
  change_hsv(result,
             [&](Hsv& hsv) { hsv.value = std::clamp(hsv.value + kMore[static_cast<size_t>(severity)], 0.0, 1.0); });
  return result;
}

FloatImage contrast(const FloatImage& image, int severity, Draw /*draw*/) {
  constexpr std::array kFactor = {.75, .5, .4, .3, .15};
  std::array<double, 3> mean{};
  for (size_t i = 0; i < image.values.size(); ++i) mean[i % 3] += image.values[i];
  const size_t pixels = image.values.size() / 3;
  for (double& m : mean) m /= static_cast<double>(pixels);
  FloatImage result = image;
  for (size_t i = 0; i < result.values.size(); ++i)
    result.values[i] = (result.values[i] - mean[i % 3]) * kFactor[static_cast<size_t>(severity)] + mean[i % 3];
  return result;
}

FloatImage saturate(const FloatImage& image, int severity, Draw /*draw*/) {
  struct Level {
    double factor, more;
  };
  constexpr std::array<Level, 5> kLevels = {{{.3, 0}, {.1, 0}, {1.5, 0}, {2, .1}, {2.5, .2}}};
  const Level level = kLevels[static_cast<size_t>(severity)];
  FloatImage result = image;
  change_hsv(result,
             [&](Hsv& hsv) { hsv.saturation = std::clamp(hsv.saturation * level.factor + level.more, 0.0, 1.0); });
  return result;
}

FloatImage elastic_transform(const FloatImage& image, int severity, Draw draw) {
  struct Level {
    double alpha, sigma, affine;
  };
  constexpr std::array<Level, 5> kLevels = {
      {{0, 0, .08}, {.05, .2, .07}, {.08, .06, .06}, {.1, .04, .05}, {.1, .03, .03}}};
  const Level& level = kLevels[static_cast<size_t>(severity)];
  const double side = image.width;
  const FloatImage bent = warped(image, drawn_affine(image, side * level.affine, draw.rng));
  const FloatImage dx = displacement(image, side * level.alpha, side * level.sigma, draw.rng);
  const FloatImage dy = displacement(image, side * level.alpha, side * level.sigma, draw.rng);
  FloatImage result(image.height, image.width, image.channels);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < image.channels; ++c)
        result.at(y, x, c) = sampled(bent, y + dy.at(y, x), x + dx.at(y, x), c, Border::mirror);
    }
  }
  return result;
}

FloatImage pixelate(const FloatImage& image, int severity, Draw /*draw*/) {
  constexpr std::array kShare = {.95, .9, .85, .75, .65};
  const auto part = [&](int side) { return static_cast<int64_t>(side * kShare[static_cast<size_t>(severity)]); };
  const Image small = resize(to_bytes(image), {part(image.width), part(image.height)}, Filter::box);
  return to_float(resize(small, {image.width, image.height}, Filter::box));
}

FloatImage jpeg_compression(const FloatImage& image, int severity, Draw /*draw*/) {
  constexpr std::array kQuality = {80, 65, 58, 50, 40};
  const auto file = encode_jpeg(to_bytes(image), kQuality[static_cast<size_t>(severity)]);
  return to_float(decode_image(file, "a compressed image"));
}

}  // namespace fib::corruptions
