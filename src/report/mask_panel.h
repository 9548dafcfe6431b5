// SPDX-License-Identifier: Apache-2.0
// One head's mask as shapes: squares where they can be told apart, lines where the tokens are many.
#pragma once

#include <cstdint>
#include <vector>

#include "fibottention/pattern.h"
#include "report/drawing.h"

namespace fib::report {

struct MaskColors {
  Color ground, offsets, cls, random;
};

struct MaskPanel {
  double cell;  ///< pixels per token, a whole number from 1 up
  double side;  ///< pixels of the whole mask

  /// At most `room` pixels wide, unless fewer would make a token smaller than a pixel.
  static MaskPanel fitting(int64_t tokens, double room);
};

/// The most listed pairs drawn per head; of more an even selection is shown.
inline constexpr int64_t kMaxDots = 2000;

/// The shapes of one head with the panel's upper left corner at `origin`.
std::vector<Fill> draw_mask(const SupportSet& support, int64_t head, MaskPanel panel, Point origin,
                            const MaskColors& colors);

}  // namespace fib::report
