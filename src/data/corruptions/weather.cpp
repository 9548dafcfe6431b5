// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/rng.h"
#include "data/corruptions/filters.h"
#include "data/corruptions/kinds.h"

namespace fib::corruptions {
namespace {

FloatImage normal_layer(const FloatImage& like, double mean, double deviation, CounterRng& rng) {
  FloatImage layer(like.height, like.width, 1);
  for (double& v : layer.values) v = mean + deviation * standard_normal(rng);
  return layer;
}

void zero_below(FloatImage& layer, double threshold) {
  for (double& v : layer.values) v = v < threshold ? 0 : v;
}

FloatImage turned(const FloatImage& layer) {
  FloatImage result = layer;
  std::reverse(result.values.begin(), result.values.end());
  return result;
}

/// Eight bits, as a layer that passes through a file has.
void to_eight_bits(FloatImage& layer) {
  for (double& v : layer.values) v = std::floor(std::clamp(v, 0.0, 1.0) * 255) / 255;
}

/// Paler: a share of each pixel becomes the larger of itself and a bright grey.
void whiten(FloatImage& image, double keep) {
  const FloatImage grey = luma(image);
  for (size_t i = 0; i < image.values.size(); ++i)
    image.values[i] = keep * image.values[i] + (1 - keep) * std::max(image.values[i], 1.5 * grey.values[i / 3] + 0.5);
}

int power_of_two(int side) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(side))); }

/// A square map whose indices wrap around.
class PlasmaMap {
 public:
  PlasmaMap(int side, double decay, CounterRng& rng) : map_(side, side, 1), side_(side), rng_(rng) {
    double wibble = 100;
    for (int step = side; step >= 2; step /= 2, wibble /= decay) {
      wibble_ = wibble;
      fill_squares(step, step / 2);
      fill_diamonds(step, step / 2);
    }
  }

  FloatImage scaled() && {
    const auto [low, high] = std::minmax_element(map_.values.begin(), map_.values.end());
    const double least = *low, span = *high - *low;
    for (double& v : map_.values) v = (v - least) / span;
    return std::move(map_);
  }

 private:
  double wrapped(int y, int x) const { return map_.at((y + side_) % side_, (x + side_) % side_); }
  double wibbled(double sum) { return sum / 4 + wibble_ * uniform_between(rng_, -wibble_, wibble_); }

  void fill_squares(int step, int half) {
    for (int y = 0; y < side_; y += step) {
      for (int x = 0; x < side_; x += step)
        map_.at(y + half, x + half) =
            wibbled(wrapped(y, x) + wrapped(y + step, x) + wrapped(y, x + step) + wrapped(y + step, x + step));
    }
  }

  void fill_diamonds(int step, int half) {
    for (int y = 0; y < side_; y += step) {
      for (int x = 0; x < side_; x += step)
        map_.at(y, x + half) =
            wibbled(wrapped(y + half, x + half) + wrapped(y - half, x + half) + wrapped(y, x) + wrapped(y, x + step));
    }
    for (int y = 0; y < side_; y += step) {
      for (int x = 0; x < side_; x += step)
        map_.at(y + half, x) =
            wibbled(wrapped(y + half, x + half) + wrapped(y + half, x - half) + wrapped(y, x) + wrapped(y + step, x));
    }
  }

  FloatImage map_;
  int side_;
  CounterRng& rng_;
  double wibble_ = 0;
};

/// Ours, in place of photographs of frosted windows: ridges of plasma noise as crystals on a pale blue haze. Its mean
/// is near that of the photographs, a half.
FloatImage frost_texture(int height, int width, CounterRng& rng) {
  constexpr std::array kTint = {.86, .95, 1.0};
  const int side = power_of_two(std::max(height, width));
  const FloatImage ridges = plasma(side, 2.0, rng), haze = plasma(side, 3.0, rng);
  FloatImage texture(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double crystal = 1 - std::abs(2 * ridges.at(y, x) - 1);
      const double level = 0.25 * haze.at(y, x) + 0.75 * crystal * crystal;
      for (int c = 0; c < 3; ++c) texture.at(y, x, c) = kTint[static_cast<size_t>(c)] * level;
    }
  }
  return texture;
}

}  // namespace

FloatImage plasma(int side, double decay, CounterRng& rng) { return PlasmaMap(side, decay, rng).scaled(); }

FloatImage snow(const FloatImage& image, int severity, Draw draw) {
  struct Level {
    double mean, deviation, zoom, threshold;
    int radius;
    double sigma, keep;
  };
  constexpr std::array<Level, 5> kLevels = {{{.1, .2, 1, .6, 8, 3, .95},
                                             {.1, .2, 1, .5, 10, 4, .9},
                                             {.15, .3, 1.75, .55, 10, 4, .9},
                                             {.25, .3, 2.25, .6, 12, 6, .85},
                                             {.3, .3, 1.25, .65, 14, 12, .8}}};
  const Level& level = kLevels[static_cast<size_t>(severity)];
  FloatImage flakes = zoomed(normal_layer(image, level.mean, level.deviation, draw.rng), level.zoom);
  zero_below(flakes, level.threshold);
  to_eight_bits(flakes);
  flakes = motion_blurred(flakes, level.radius, level.sigma, uniform_between(draw.rng, -135, -45));
  FloatImage result = image;
  whiten(result, level.keep);
  add_layer(result, flakes, 1);
  add_layer(result, turned(flakes), 1);
  return result;
}

FloatImage frost(const FloatImage& image, int severity, Draw draw) {
  struct Level {
    double image, frost;
  };
  constexpr std::array<Level, 5> kLevels = {{{1, .2}, {1, .3}, {.9, .4}, {.85, .4}, {.75, .45}}};
  const Level& level = kLevels[static_cast<size_t>(severity)];
  const FloatImage texture = frost_texture(image.height, image.width, draw.rng);
  FloatImage result = image;
  for (size_t i = 0; i < result.values.size(); ++i)
    result.values[i] = level.image * result.values[i] + level.frost * texture.values[i];
  return result;
}

FloatImage fog(const FloatImage& image, int severity, Draw draw) {
  struct Level {
    double weight, decay;
  };
  constexpr std::array<Level, 5> kLevels = {{{.2, 3}, {.5, 3}, {.75, 2.5}, {1, 2}, {1.5, 1.75}}};
  const auto [weight, decay] = kLevels[static_cast<size_t>(severity)];
  const FloatImage map = plasma(power_of_two(std::max(image.height, image.width)), decay, draw.rng);
  const double most = *std::max_element(image.values.begin(), image.values.end());
  FloatImage result = image;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < image.channels; ++c)
        result.at(y, x, c) = (image.at(y, x, c) + weight * map.at(y, x)) * most / (most + weight);
    }
  }
  return result;
}

}  // namespace fib::corruptions
