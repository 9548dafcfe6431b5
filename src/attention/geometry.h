// SPDX-License-Identifier: Apache-2.0
// Where an attention layer stands: all that a mechanism needs to know of the backbone around it.
//
// Letters used in this room: B samples (windows and frames count as samples), H heads, T tokens (Tq of queries, Tk of
// keys), N = T - cls of them on a grid, d channels of a query or key, e channels of a value, G groups of biases.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "fibottention/pattern.h"

namespace fib::attention {

/// Patch tokens in reading order. A sequence, such as the frames of one place of a clip, is a grid of height 1.
using Grid = PatchGrid;

struct Geometry {
  int64_t heads = 12;
  int64_t head_dim = 64;   ///< d; a mechanism may ask for another one, see query_key_dim
  int64_t value_dim = 64;  ///< e
  int64_t cls = 1;         ///< class tokens, which stand first among queries and among keys
  Grid query_grid{14, 14};
  Grid key_grid{14, 14};         ///< differs where keys are pooled; a support is then made on the coarser of the two
  std::optional<int64_t> layer;  ///< selects head permutation and random draw; none is identity and draw 0
  std::optional<double> scale;   ///< of the scores, 1/√d unless the backbone has a rule of its own
  bool bias = false;             ///< whether scores have a term of their own for each pair, such as relative positions

  int64_t query_tokens() const { return cls + query_grid.tokens(); }
  int64_t key_tokens() const { return cls + key_grid.tokens(); }
  bool square() const { return query_grid == key_grid; }
  friend bool operator==(const Geometry&, const Geometry&) = default;
  double score_scale() const { return scale.value_or(1.0 / std::sqrt(static_cast<double>(head_dim))); }
};

}  // namespace fib::attention
