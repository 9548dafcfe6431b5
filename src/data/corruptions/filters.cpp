// SPDX-License-Identifier: Apache-2.0
#include "data/corruptions/filters.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace fib::corruptions {
namespace {

void normalize(std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& w : weights) w /= sum;
}

/// Along one axis.
FloatImage line_filtered(const FloatImage& image, const std::vector<double>& weights, bool vertical, Border border) {
  const int radius = static_cast<int>(weights.size()) / 2;
  FloatImage result(image.height, image.width, image.channels);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int k = -radius; k <= radius; ++k) {
        const int from_y = vertical ? inside(y + k, image.height, border) : y;
        const int from_x = vertical ? x : inside(x + k, image.width, border);
        const int tap = k + radius;
        const double w = weights[static_cast<size_t>(tap)];
        for (int c = 0; c < image.channels; ++c) result.at(y, x, c) += w * image.at(from_y, from_x, c);
      }
    }
  }
  return result;
}

/// Of three weights.
std::vector<double> narrow_gaussian(double sigma) {
  const double beside = std::exp(-0.5 / (sigma * sigma));
  std::vector<double> weights = {beside, 1, beside};
  normalize(weights);
  return weights;
}

}  // namespace

int inside(int i, int size, Border border) {
  if (border == Border::nearest || size == 1) return std::clamp(i, 0, size - 1);
  const bool with_edge = border == Border::mirror;
  const int period = with_edge ? 2 * size : 2 * size - 2;
  i = ((i % period) + period) % period;
  return i < size ? i : period - i - (with_edge ? 1 : 0);
}

std::vector<double> gaussian_weights(double sigma, double truncate) {
  if (sigma == 0) return {1};
  const int radius = static_cast<int>(truncate * sigma + 0.5);
  std::vector<double> weights;
  for (int k = -radius; k <= radius; ++k) weights.push_back(std::exp(-0.5 * k * k / (sigma * sigma)));
  normalize(weights);
  return weights;
}

FloatImage gaussian(const FloatImage& image, double sigma, double truncate, Border border) {
  const std::vector<double> weights = gaussian_weights(sigma, truncate);
  if (weights.size() == 1) return image;
  return line_filtered(line_filtered(image, weights, true, border), weights, false, border);
}

Kernel defocus_kernel(double radius, double alias) {
  constexpr int kSide = 17, kMiddle = kSide / 2;
  FloatImage disc(kSide, kSide, 1);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const int dy = y - kMiddle, dx = x - kMiddle;
      disc.at(y, x) = dy * dy + dx * dx <= radius * radius ? 1 : 0;
    }
  }
  normalize(disc.values);
  const std::vector<double> narrow = narrow_gaussian(alias);
  disc = line_filtered(line_filtered(disc, narrow, true, Border::mirror_101), narrow, false, Border::mirror_101);
  return {kSide, disc.values};
}

FloatImage filtered(const FloatImage& image, const Kernel& kernel) {
  const int radius = kernel.side / 2;
  FloatImage result(image.height, image.width, image.channels);
  for (int ky = -radius; ky <= radius; ++ky) {
    for (int kx = -radius; kx <= radius; ++kx) {
      const int tap = (ky + radius) * kernel.side + kx + radius;
      const double w = kernel.weights[static_cast<size_t>(tap)];
      if (w == 0) continue;
      for (int y = 0; y < image.height; ++y) {
        for (int x = 0; x < image.width; ++x) {
          const int from_y = inside(y + ky, image.height, Border::mirror_101);
          const int from_x = inside(x + kx, image.width, Border::mirror_101);
          for (int c = 0; c < image.channels; ++c) result.at(y, x, c) += w * image.at(from_y, from_x, c);
        }
      }
    }
  }
  return result;
}

std::vector<MotionStep> motion_steps(int radius, double sigma, double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  const int taps = 2 * radius + 1;
  std::vector<double> weights;
  weights.reserve(static_cast<size_t>(taps));
  for (int i = 0; i < taps; ++i) weights.push_back(std::exp(-0.5 * i * i / (sigma * sigma)));
  normalize(weights);
  std::vector<MotionStep> steps;
  steps.reserve(static_cast<size_t>(taps));
  for (int i = 0; i < taps; ++i)
    steps.push_back({static_cast<int>(std::ceil(i * std::cos(angle) - 0.5)),
                     static_cast<int>(std::ceil(i * std::sin(angle) - 0.5)), weights[static_cast<size_t>(i)]});
  return steps;
}

FloatImage motion_blurred(const FloatImage& image, int radius, double sigma, double degrees) {
  FloatImage result(image.height, image.width, image.channels);
  for (const auto& [dx, dy, weight] : motion_steps(radius, sigma, degrees)) {
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width; ++x) {
        const int from_y = inside(y + dy, image.height, Border::nearest);
        const int from_x = inside(x + dx, image.width, Border::nearest);
        for (int c = 0; c < image.channels; ++c) result.at(y, x, c) += weight * image.at(from_y, from_x, c);
      }
    }
  }
  return result;
}

double sampled(const FloatImage& image, double y, double x, int channel, Border border) {
  const double top = std::floor(y), left = std::floor(x);
  const int y0 = inside(static_cast<int>(top), image.height, border);
  const int y1 = inside(static_cast<int>(top) + 1, image.height, border);
  const int x0 = inside(static_cast<int>(left), image.width, border);
  const int x1 = inside(static_cast<int>(left) + 1, image.width, border);
  const double upper = std::lerp(image.at(y0, x0, channel), image.at(y0, x1, channel), x - left);
  const double lower = std::lerp(image.at(y1, x0, channel), image.at(y1, x1, channel), x - left);
  return std::lerp(upper, lower, y - top);
}

FloatImage zoomed(const FloatImage& image, double factor) {
  const int side = image.height, part = static_cast<int>(std::ceil(side / factor)), top = (side - part) / 2;
  const int enlarged = static_cast<int>(std::nearbyint(part * factor)), trim = (enlarged - side) / 2;
  const double step = enlarged > 1 ? static_cast<double>(part - 1) / (enlarged - 1) : 0;
  FloatImage result(side, image.width, image.channels);
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < image.channels; ++c)
        result.at(y, x, c) = sampled(image, top + (y + trim) * step, top + (x + trim) * step, c, Border::nearest);
    }
  }
  return result;
}

}  // namespace fib::corruptions
