// SPDX-License-Identifier: Apache-2.0
// Where a model looks in an image: layers down, heads across, drawn over the image itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/heat.h"

namespace fib::report {

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
