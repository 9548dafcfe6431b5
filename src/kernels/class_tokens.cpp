// SPDX-License-Identifier: Apache-2.0
#include "kernels/class_tokens.h"

#include <cmath>
#include <limits>
#include <vector>

namespace fib::kernels {
namespace {

/// Partials of all class tokens together stay below this many per tile, so that they never rival the inputs.
constexpr int64_t kPartialsPerTile = 4;

/// Σ over chunks of partial[first … first + count).
template <class T>
void add_chunks(const SupportCall<T>& call, const ClassChunks& chunks, TileIndex at, int64_t c, int64_t first,
                int64_t count, T* into) {
  for (int64_t i = 0; i < count; ++i) into[i] = T(0);
  for (int64_t chunk = 0; chunk < chunks.chunks; ++chunk) {
    const T* from = partial(call, chunks, at, c, chunk) + first;
    for (int64_t i = 0; i < count; ++i) into[i] += from[i];
  }
}

/// The largest row max among chunks that have any weight.
template <class T>
T joint_max(const SupportCall<T>& call, TileIndex at, int64_t c) {
  T row_max = -std::numeric_limits<T>::infinity();
  for (int64_t chunk = 0; chunk < call.query_chunks.chunks; ++chunk) {
    const T* p = partial(call, call.query_chunks, at, c, chunk);
    if (p[1] != 0 && p[0] > row_max) row_max = p[0];
  }
  return row_max;
}

template <class T>
void join_row(const SupportCall<T>& call, TileIndex at, int64_t c, T* out, T* lse) {
  const int64_t e = call.shape.value_dim;
  const T row_max = joint_max(call, at, c);
  T sum = 0;
  for (int64_t i = 0; i < e; ++i) out[i] = T(0);
  for (int64_t chunk = 0; chunk < call.query_chunks.chunks; ++chunk) {
    const T* p = partial(call, call.query_chunks, at, c, chunk);
    if (p[1] == 0) continue;
    const T weight = std::exp(p[0] - row_max);
    sum += weight * p[1];
    for (int64_t i = 0; i < e; ++i) out[i] += weight * p[2 + i];
  }
  for (int64_t i = 0; i < e && sum != 0; ++i) out[i] /= sum;
  if (lse != nullptr) *lse = sum == 0 ? -std::numeric_limits<T>::infinity() : row_max + std::log(sum);
}

}  // namespace

ClassChunks class_chunks(int64_t tokens, int64_t cls) {
  ClassChunks c;
  c.tiles = std::max<int64_t>(1, (tokens - cls + kTileTokens - 1) / kTileTokens);
  c.tiles_per_chunk = std::min(c.tiles, std::max<int64_t>(1, (cls + kPartialsPerTile - 1) / kPartialsPerTile));
  c.chunks = (c.tiles + c.tiles_per_chunk - 1) / c.tiles_per_chunk;
  return c;
}

template <class T>
void join_forward(const SupportCall<T>& call, TileIndex at) {
  T* lse = call.lse == nullptr ? nullptr : call.lse + call.head_index(at.b, at.h) * call.shape.query_tokens;
  for (int64_t c = 0; c < call.support->cls(); ++c) {
    T* out = call.out.row(at.b, at.h, c);
    T* row_lse = lse == nullptr ? nullptr : lse + c;
    if (c < call.query_end(at.b)) {
      join_row(call, at, c, out, row_lse);
    } else {
      std::fill_n(out, call.shape.value_dim, T(0));
      if (row_lse != nullptr) *row_lse = -std::numeric_limits<T>::infinity();
    }
  }
}

/// Where the first tile left its part: the gradient that every patch of a tile receives, the mean's by its size.
template <class T>
void join_summaries(const SupportCall<T>& call, TileIndex at) {
  const int64_t row = call.shape.dim + call.shape.value_dim, size = call.summaries.count * row;
  T* sums = summary_partial(call, {at.b, at.h, 0});
  for (int64_t tile = 1; tile < call.query_chunks.tiles; ++tile) {
    const T* from = summary_partial(call, {at.b, at.h, tile});
    for (int64_t i = 0; i < size; ++i) sums[i] += from[i];
  }
  for (int64_t s = 0; s < call.summaries.count; ++s) {
    const T share = T(1) / static_cast<T>(call.support->summaries()->size(s));
    for (int64_t i = 0; i < row; ++i) sums[s * row + i] *= share;
  }
}

template <class T>
void join_query_gradients(const SupportCall<T>& call, TileIndex at) {
  if (call.summaries.count > 0) join_summaries(call, at);
  for (int64_t c = 0; c < call.support->cls(); ++c) {
    T* dq = call.gradients.dq.row(at.b, at.h, c);
    if (c < call.query_end(at.b)) {
      add_chunks(call, call.query_chunks, at, c, 0, call.shape.dim, dq);
    } else {
      std::fill_n(dq, call.shape.dim, T(0));
    }
  }
}

template <class T>
void join_key_gradients(const SupportCall<T>& call, TileIndex at) {
  const int64_t d = call.shape.dim, e = call.shape.value_dim;
  for (int64_t c = 0; c < call.support->cls(); ++c) {
    T *dk = call.gradients.dk.row(at.b, at.h, c), *dv = call.gradients.dv.row(at.b, at.h, c);
    if (c >= call.key_end(at.b)) {
      std::fill_n(dk, d, T(0));
      std::fill_n(dv, e, T(0));
      continue;
    }
    add_chunks(call, call.key_chunks, at, c, 0, d, dk);
    add_chunks(call, call.key_chunks, at, c, d, e, dv);
    const double* everywhere = call.column_sum == nullptr ? nullptr : call.column_sum + call.head_index(at.b, at.h) * e;
    for (int64_t i = 0; everywhere != nullptr && i < e; ++i) dv[i] += static_cast<T>(everywhere[i]);
  }
}

template void join_forward<float>(const SupportCall<float>&, TileIndex);
template void join_forward<double>(const SupportCall<double>&, TileIndex);
template void join_query_gradients<float>(const SupportCall<float>&, TileIndex);
template void join_query_gradients<double>(const SupportCall<double>&, TileIndex);
template void join_key_gradients<float>(const SupportCall<float>&, TileIndex);
template void join_key_gradients<double>(const SupportCall<double>&, TileIndex);

}  // namespace fib::kernels
