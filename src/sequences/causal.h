// SPDX-License-Identifier: Apache-2.0
// Causal layers as a decoder needs them: a token looks back at itself and at earlier tokens, by distances alone, so
// that the next token asks for the same distances whatever its place. What a layer looks back at is made once, for the
// context that the model is trained with, and serves sequences of any length.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fibottention/pattern.h"

namespace fib::sequences {

struct CausalGeometry {
  int64_t heads = 1;
  int64_t context = 1;  ///< what N means in the mechanism's options
  int64_t layer = 0;    ///< selects the permutation of heads and the stretch of offsets
};

struct CausalLayer {
  bool everything = false;                      ///< all earlier tokens, whatever the distance
  std::vector<std::vector<int64_t>> distances;  ///< by head, ascending, 0 being the token itself; empty: everything
  int64_t heads = 1;

  /// Rows that a cache must keep for a token to find all it looks back at, itself included.
  int64_t rows(int64_t context) const;
  /// Pairs of query and key among `tokens` tokens, over all heads.
  int64_t pairs(int64_t tokens) const;
  /// 1 - pairs / (h T (T + 1) / 2): of what a causal layer could form.
  double pruning_ratio(int64_t tokens) const;
  /// As the kernels take it; with `everything` all distances are listed.
  SupportSet support(int64_t tokens) const;
};

/// Every mechanism here understands two options more. local=W: each head sees itself and the W tokens before it too.
/// stretch=S: in layer l, counted from 0, its offsets lie 1 + S l times as far apart; those beyond the context are left
/// out. Throws std::invalid_argument with the reason for a mechanism that does not look back by distances.
CausalLayer causal_layer(const AttentionSpec& spec, const CausalGeometry& geometry);

}  // namespace fib::sequences
