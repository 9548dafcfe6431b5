// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <opencv2/imgproc.hpp>

#include "base/rng.h"
#include "data/corruptions/filters.h"
#include "data/corruptions/kinds.h"

namespace fib::corruptions {
namespace {

struct SpatterLevel {
  double mean, deviation, sigma, threshold, strength;
  bool mud;
};
constexpr std::array<SpatterLevel, 5> kSpatterLevels = {{{.62, .1, .7, .7, .5, false},
                                                         {.65, .1, .8, .7, .5, false},
                                                         {.65, .3, 1, .69, .5, false},
                                                         {.65, .1, .7, .69, .6, true},
                                                         {.65, .1, .5, .68, .6, true}}};
constexpr std::array kWater = {175 / 255.0, 238 / 255.0, 238 / 255.0}, kMud = {63 / 255.0, 42 / 255.0, 20 / 255.0};

/// Drops seem thick where they are far from their edge, and are lit from one side.
cv::Mat drop_relief(const cv::Mat& liquid) {
  cv::Mat edges, distance, eight, lit, smooth;
  cv::Canny(liquid, edges, 50, 150);
  cv::distanceTransform(255 - edges, distance, cv::DIST_L2, 5);
  cv::threshold(distance, distance, 20, 20, cv::THRESH_TRUNC);
  cv::blur(distance, distance, {3, 3});
  // Cut, not rounded.
  eight = cv::Mat(distance.size(), CV_8U);
  std::transform(distance.begin<float>(), distance.end<float>(), eight.begin<uint8_t>(),
                 [](float v) { return static_cast<uint8_t>(v); });
  cv::equalizeHist(eight, eight);
  const cv::Matx33f light(-2, -1, 0, -1, 1, 1, 0, 1, 2);
  cv::filter2D(eight, lit, CV_8U, light);
  cv::blur(lit, lit, {3, 3});
  lit.convertTo(smooth, CV_64F);
  return smooth;
}

FloatImage watered(FloatImage image, const FloatImage& layer, double strength) {
  cv::Mat liquid(layer.height, layer.width, CV_8U);
  std::transform(layer.values.begin(), layer.values.end(), liquid.begin<uint8_t>(),
                 [](double v) { return static_cast<uint8_t>(std::clamp(v, 0.0, 1.0) * 255); });
  const cv::Mat relief = drop_relief(liquid);
  FloatImage mask(layer.height, layer.width, 1);
  std::transform(liquid.begin<uint8_t>(), liquid.end<uint8_t>(), relief.begin<double>(), mask.values.begin(),
                 [](uint8_t a, double b) { return a * b; });
  const double most = *std::max_element(mask.values.begin(), mask.values.end());
  if (most == 0) return image;  // no drop fell on this image
  for (size_t i = 0; i < image.values.size(); ++i)
    image.values[i] += mask.values[i / 3] / most * strength * kWater[i % 3];
  return image;
}

FloatImage muddied(FloatImage image, const FloatImage& layer, double threshold, double sigma) {
  FloatImage mask = layer;
  for (double& v : mask.values) v = v > threshold ? 1 : 0;
  mask = gaussian(mask, sigma);
  for (size_t i = 0; i < image.values.size(); ++i) {
    const double m = mask.values[i / 3] < 0.8 ? 0 : mask.values[i / 3];
    image.values[i] = image.values[i] * (1 - m) + kMud[i % 3] * m;
  }
  return image;
}

}  // namespace

FloatImage spatter(const FloatImage& image, int severity, Draw draw) {
  const SpatterLevel& row = kSpatterLevels[static_cast<size_t>(severity)];
  FloatImage layer(image.height, image.width, 1);
  for (double& v : layer.values) v = row.mean + row.deviation * standard_normal(draw.rng);
  layer = gaussian(layer, row.sigma);
  for (double& v : layer.values) v = v < row.threshold ? 0 : v;
  return row.mud ? muddied(image, layer, row.threshold, row.strength) : watered(image, layer, row.strength);
}

}  // namespace fib::corruptions
