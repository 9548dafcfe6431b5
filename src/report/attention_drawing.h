// SPDX-License-Identifier: Apache-2.0
// Where a model looks: weights of patches as light over a darkened image, and sheets with layers down and heads across.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/drawing.h"

namespace fib::report {

/// A square image of red, green and blue bytes, or a strip of several side by side: the frames of a clip.
struct SquareImage {
  uint32_t side = 0;
  std::vector<uint8_t> rgb;
  uint32_t frames = 1;

  uint32_t width() const { return frames * side; }
};

/// From black over violet and orange to pale yellow, for 0 to 1: it grows brighter throughout, for any eye.
Color heat_color(double share);

/// `weights` are those of a square grid of patches, of a strip those of one frame after the other; the largest is
/// brightest, the smallest dark. `marked` is framed: the patch that looks, in every frame.
Pixels heat_over(const SquareImage& image, const std::vector<double>& weights, std::optional<size_t> marked,
                 const Rect& at);

/// Which weight is dark and which brightest.
struct HeatRange {
  double least = 0, most = 0;
};

HeatRange range_of(const std::vector<double>& weights);
/// Both on one scale.
HeatRange joint_range(const HeatRange& a, const HeatRange& b);
/// On a scale that other maps have too, so that they can be compared.
Pixels heat_over(const SquareImage& image, const std::vector<double>& weights, const HeatRange& range);

/// Maps [layer][head] of one query over the patches.
struct MapsOfQuery {
  std::string title;
  std::vector<std::vector<std::vector<double>>> weights;
  std::optional<size_t> marked;  ///< the patch that looks
};

struct AttentionSheet {
  std::string title, subtitle;
  SquareImage image;
  std::vector<double> rollout;
  std::vector<MapsOfQuery> queries;
};

/// One sheet below the other.
Drawing draw_attention(const std::vector<AttentionSheet>& sheets);

/// The mean of the heads of a layer.
std::vector<double> mean_of_heads(const std::vector<std::vector<double>>& heads);

}  // namespace fib::report
