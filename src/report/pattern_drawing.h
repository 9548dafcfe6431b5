// SPDX-License-Identifier: Apache-2.0
// All heads of a support set as small multiples: queries down, keys across.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fibottention/pattern.h"
#include "report/drawing.h"

namespace fib::report {

/// The attention and, since it moves the heads, the layer.
std::string pattern_title(const AttentionSpec& spec, std::optional<int64_t> layer);

/// A file of its own, or a part of a page, with small panels.
enum class PatternSize { file, page };

Drawing draw_pattern(const std::string& name, const SupportSet& support, PatternSize size = PatternSize::file);

// ---- One head's mask as shapes: squares where they can be told apart, lines where the tokens are many

struct MaskColors {
  Color ground, offsets, cls, random, neighbors, summaries;
};

struct MaskPanel {
  double cell;          ///< pixels per token, a whole number from 1 up
  double side;          ///< pixels of the tokens' mask
  double width = side;  ///< with the columns of the summaries, which stand apart on its right

  /// At most `room` pixels wide, unless fewer would make a token smaller than a pixel.
  static MaskPanel fitting(const SupportSet& support, double room);
};

/// The most listed pairs drawn per head; of more an even selection is shown.
inline constexpr int64_t kMaxDots = 2000;

/// The shapes of one head with the panel's upper left corner at `origin`.
std::vector<Fill> draw_mask(const SupportSet& support, int64_t head, MaskPanel panel, Point origin,
                            const MaskColors& colors);

}  // namespace fib::report
