// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/rng.h"
#include "data/corruptions/kinds.h"

namespace fib::corruptions {
namespace {

/// Every value through `change`; in grey images once per pixel.
template <class Change>
FloatImage changed(FloatImage image, bool grey, const Change& change) {
  const auto step = static_cast<size_t>(grey ? image.channels : 1);
  for (size_t i = 0; i < image.values.size(); i += step) {
    const double value = change(image.values[i]);
    for (size_t c = 0; c < step; ++c) image.values[i + c] = value;
  }
  return image;
}

}  // namespace

FloatImage gaussian_noise(const FloatImage& image, int severity, Draw draw) {
  constexpr std::array kSigma = {.04, .06, .08, .09, .10};
  return changed(image, draw.grey,
                 [&](double x) { return x + kSigma[static_cast<size_t>(severity)] * standard_normal(draw.rng); });
}

FloatImage shot_noise(const FloatImage& image, int severity, Draw draw) {
  constexpr std::array kPhotons = {500.0, 250.0, 100.0, 75.0, 50.0};
  const double photons = kPhotons[static_cast<size_t>(severity)];
  return changed(image, draw.grey, [&](double x) { return poisson(draw.rng, x * photons) / photons; });
}

FloatImage impulse_noise(const FloatImage& image, int severity, Draw draw) {
  constexpr std::array kAmount = {.01, .02, .03, .05, .07};
  return changed(image, draw.grey, [&](double x) {
    const bool hit = bernoulli(draw.rng, kAmount[static_cast<size_t>(severity)]), salt = bernoulli(draw.rng, 0.5);
    return hit ? (salt ? 1.0 : 0.0) : x;
  });
}

FloatImage speckle_noise(const FloatImage& image, int severity, Draw draw) {
  constexpr std::array kSigma = {.06, .1, .12, .16, .2};
  return changed(image, draw.grey,
                 [&](double x) { return x + x * kSigma[static_cast<size_t>(severity)] * standard_normal(draw.rng); });
}

}  // namespace fib::corruptions
