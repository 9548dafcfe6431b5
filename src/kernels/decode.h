// SPDX-License-Identifier: Apache-2.0
// Attention of one new token on the keys and values of earlier ones, which a cache keeps. What it reads are the rows at
// the support's distances: a token costs the same however many came before it.
//
// Letters: H heads, R rows of the cache, d channels of a head.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fib::kernels {

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

/// [n,H,d] with consecutive channels.
template <class T>
struct NextTokens {
  T* data = nullptr;
  int64_t token_stride = 0, head_stride = 0;

  T* row(int64_t token, int64_t head) const { return data + token * token_stride + head * head_stride; }
};

/// The next n tokens of a sequence, one after the other: a token's key and value go into the cache before it asks.
struct DecodeTokens {
  int64_t tokens = 1, heads = 1, rows = 1, dim = 1;
  int64_t position = 0;  ///< of the first of them
  float scale = 1;
  double rotary_base = 0;  ///< above 0: queries and keys are turned first, see turn()
  NextTokens<const float> q = {}, k = {}, v = {};
  float *keys = nullptr, *values = nullptr;  ///< [H,R,d]
  NextTokens<float> out = {};
};

/// `distances` as for decode_at_distances; none: everything that the cache holds.
void decode_tokens(const DecodeTokens& call, std::span<const std::vector<int64_t>> distances);

/// Rotary positions: channels c and c + d/2 of a row turn together, by base^(-2c/d) a place. `cos_sin` [d/2,2] are of
/// the row's place.
void rotary_angles(int64_t position, int64_t dim, double base, std::span<float> cos_sin);
void turn(float* row, std::span<const float> cos_sin);

}  // namespace fib::kernels
