// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/rand_augment.h"

#include <algorithm>

#include "data/random.h"
#include "data/transforms/enhance.h"
#include "data/transforms/point_ops.h"

namespace fib {
namespace {

double enhance_factor(double level, double sign, bool increasing) {
  // "No change" is 1: the increasing set moves away from it, the other walks through it.
  return increasing ? std::max(0.1, 1 + sign * level * 0.9) : level * 1.8 + 0.1;
}

double posterize_bits(double level, bool increasing) {
  const int bits = static_cast<int>(level * 4);
  return increasing ? 4 - bits : bits;
}

double solarize_threshold(double level, bool increasing) {
  const int threshold = std::min(256, static_cast<int>(level * 256));
  return increasing ? 256 - threshold : threshold;
}

}  // namespace

double augment_argument(AugmentOp op, double level, bool negative, bool increasing) {
  const double part = level / 10, sign = negative ? -1 : 1;
  switch (op) {
    case AugmentOp::autocontrast:
    case AugmentOp::equalize:
    case AugmentOp::invert:
      return 0;
    case AugmentOp::rotate:
      return sign * part * 30;
    case AugmentOp::posterize:
      return posterize_bits(part, increasing);
    case AugmentOp::solarize:
      return solarize_threshold(part, increasing);
    case AugmentOp::solarize_add:
      return std::min(128, static_cast<int>(part * 110));
    case AugmentOp::color:
    case AugmentOp::contrast:
    case AugmentOp::brightness:
    case AugmentOp::sharpness:
      return enhance_factor(part, sign, increasing);
    case AugmentOp::shear_x:
    case AugmentOp::shear_y:
      return sign * part * 0.3;
    case AugmentOp::translate_x:
    case AugmentOp::translate_y:
      return sign * part * 0.45;
  }
  return 0;
}

void apply_augment(Image& image, AugmentOp op, double argument, const Fill& fill) {
  switch (op) {
    case AugmentOp::autocontrast:
      return autocontrast(image);
    case AugmentOp::equalize:
      return equalize(image);
    case AugmentOp::invert:
      return invert(image);
    case AugmentOp::rotate:
      image = rotated(image, argument, fill);
      return;
    case AugmentOp::posterize:
      return posterize(image, static_cast<int>(argument));
    case AugmentOp::solarize:
      return solarize(image, static_cast<int>(argument));
    case AugmentOp::solarize_add:
      return solarize_add(image, static_cast<int>(argument));
    case AugmentOp::color:
      return enhance_color(image, argument);
    case AugmentOp::contrast:
      return enhance_contrast(image, argument);
    case AugmentOp::brightness:
      return enhance_brightness(image, argument);
    case AugmentOp::sharpness:
      return enhance_sharpness(image, argument);
    case AugmentOp::shear_x:
      image = warped(image, {.b = argument}, fill);
      return;
    case AugmentOp::shear_y:
      image = warped(image, {.d = argument}, fill);
      return;
    case AugmentOp::translate_x:
      image = warped(image, {.c = argument * static_cast<double>(image.width)}, fill);
      return;
    case AugmentOp::translate_y:
      image = warped(image, {.f = argument * static_cast<double>(image.height)}, fill);
      return;
  }
}

double RandAugment::draw_level(CounterRng& rng) const {
  double level = magnitude;
  if (std::isinf(magnitude_std)) {
    level = uniform_between(rng, 0, magnitude);
  } else if (magnitude_std > 0) {
    level += magnitude_std * standard_normal(rng);
  }
  return std::clamp(level, 0.0, magnitude_max);
}

void RandAugment::apply(Image& image, const Fill& fill, CounterRng& rng) const {
  for (int i = 0; i < layers; ++i) {
    const auto op = static_cast<AugmentOp>(rng.below(kAugmentOps));
    if (!happens(rng, probability)) continue;
    const double level = draw_level(rng);
    apply_augment(image, op, augment_argument(op, level, happens(rng, 0.5), increasing), fill);
  }
}

}  // namespace fib
