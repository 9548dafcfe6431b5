// SPDX-License-Identifier: Apache-2.0
// RandAugment with timm's definitions: operations, their arguments at a level, and strings such as
// rand-m15-n2-mstd1.0-inc1.
#pragma once

#include <string_view>

#include "base/rng.h"
#include "data/images/image.h"
#include "data/transforms/pillow_ops.h"

namespace fib {

enum class AugmentOp {
  autocontrast,
  equalize,
  invert,
  rotate,
  posterize,
  solarize,
  solarize_add,
  color,
  contrast,
  brightness,
  sharpness,
  shear_x,
  shear_y,
  translate_x,
  translate_y
};
constexpr int kAugmentOps = 15;

struct RandAugment {
  int magnitude = 10;
  int layers = 2;            ///< operations drawn per image, with replacement
  double probability = 0.5;  ///< that a drawn operation is applied
  double magnitude_std = 0;  ///< of the normal distribution around the magnitude; infinite: uniform in [0, magnitude]
  double magnitude_max = 10;
  bool increasing = false;  ///< posterize, solarize and the enhancements grow stronger with the level

  /// Sections m, n, p, mstd, mmax and inc1 after "rand", in any order, each at most once. Throws std::invalid_argument
  /// naming the section and what is accepted.
  static RandAugment parse(std::string_view text);

  void apply(Image& image, const Fill& fill, CounterRng& rng) const;
  /// In [0, magnitude_max].
  double draw_level(CounterRng& rng) const;
};

/// What an operation receives at a level: degrees, bits, a threshold, what is added, a factor, or a share of the size.
/// `negative` chooses the side for those that have two. Operations without an argument give 0.
double augment_argument(AugmentOp op, double level, bool negative, bool increasing);
void apply_augment(Image& image, AugmentOp op, double argument, const Fill& fill);

}  // namespace fib
