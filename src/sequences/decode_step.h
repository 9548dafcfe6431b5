// SPDX-License-Identifier: Apache-2.0
// Attention of one new token on the keys and values of earlier ones, which a cache keeps. What it reads are the rows at
// the support's distances: a token costs the same however many came before it.
//
// Letters: H heads, R rows of the cache, d channels of a head.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fib::sequences {

/// Position p lies in row p mod R, so that the latest R positions are there.
struct DecodeStep {
  int64_t heads = 1, rows = 1, dim = 1;
  int64_t position = 0;  ///< of the query, from 0; its own key and value are in the cache
  float scale = 1;
  const float* q = nullptr;  ///< [H,d]
  const float* k = nullptr;  ///< [H,R,d]
  const float* v = nullptr;  ///< [H,R,d]
  float* out = nullptr;      ///< [H,d]
};

/// `distances` of each head, ascending, 0 being the query's own position, each below R. Those before the first position
/// do not exist; a head that sees nothing gives zeros.
void decode_at_distances(const DecodeStep& step, std::span<const std::vector<int64_t>> distances);

/// All positions that the cache holds.
void decode_everything(const DecodeStep& step);

}  // namespace fib::sequences
