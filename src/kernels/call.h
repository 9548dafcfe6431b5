// SPDX-License-Identifier: Apache-2.0
// One call of attention as its tiles see it: no SIMD types, so it is shared by every target.
//
// Letters: B samples, H heads, T tokens (cls of them class tokens, first), d and e channels. "Self" is the side whose
// rows a tile owns and writes, "other" the side it reads: query and key in forward and for dq, key and query for dk,
// dv.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "fibottention/attention.h"
#include "kernels/dropout.h"

namespace fib::kernels {

/// Patch tokens per tile, the unit of parallel work: 12 heads of 784 tokens are 84 tasks, and a tile's own rows (32 KB
/// at d = 64) leave the caches to the rows it reads.
inline constexpr int64_t kTileTokens = 128;

/// The rows of one array in one (sample, head).
template <class T>
struct Rows {
  T* data = nullptr;
  int64_t stride = 0;
  T* row(int64_t t) const { return data + t * stride; }
};

/// How the T keys of a class token (or, in backward, its T queries) are cut: every chunk leaves a partial result, and
/// the thread that finishes the last one adds them up in order.
struct ClassChunks {
  int64_t tiles = 1;            ///< of patch tokens per head
  int64_t tiles_per_chunk = 1;  ///< more than one only where many class tokens would make the partials large
  int64_t chunks = 1;
};

/// What a call of any attention was given.
template <class T>
struct AnyCall {
  AttentionShape shape;
  AttentionInputs<T> inputs;
  AttentionOptions<T> options;
  T scale = 1;
  TokenView<T> out;              ///< forward writes it
  T* lse = nullptr;              ///< forward writes it where given, [B,H,Tq]
  TokenView<const T> saved_out;  ///< backward reads these three
  TokenView<const T> grad_out;
  const T* saved_lse = nullptr;  ///< [B,H,Tq]
  AttentionGradients<T> gradients;

  void set(const AttentionShape& given_shape, const AttentionInputs<T>& given, const AttentionOptions<T>& chosen) {
    shape = given_shape, inputs = given, options = chosen;
    scale = static_cast<T>(chosen.scale.value_or(1.0 / std::sqrt(static_cast<double>(shape.dim))));
  }
  void set_backward(const TokenView<const T>& forward_out, const T* forward_lse, const TokenView<const T>& gradient,
                    const AttentionGradients<T>& into) {
    saved_out = forward_out, saved_lse = forward_lse, grad_out = gradient, gradients = into;
  }

  int64_t head_index(int64_t b, int64_t h) const { return b * shape.heads + h; }
  int64_t key_end(int64_t b) const { return options.lengths != nullptr ? options.lengths[b] : shape.key_tokens; }
  int64_t query_end(int64_t b) const {
    return shape.query_tokens == shape.key_tokens ? key_end(b) : shape.query_tokens;
  }
};

/// Of every pair of some heads what its query's gradient computed and its key's gradients need too: the weight of dout
/// in dv, and that of q in dk. A head has 2C + S rows of T values, for C class tokens and S signed offsets: row c is
/// class token c as a key, by query; row C + c is it as a query, by key; row 2C + s is shift s, by query.
template <class T>
struct KeptPairs {
  T* data = nullptr;  ///< [heads,2,rows,T]
  int64_t rows = 0;
  int64_t first_head = 0;  ///< as head_index counts them
};

/// Means of keys and values over the tiles of every head, and what their gradients are gathered in: every tile of
/// queries leaves the sums of its own, which are added in order once all are there.
template <class T>
struct Summaries {
  int64_t count = 0;                     ///< of a head; 0 where the support has none
  T *keys = nullptr, *values = nullptr;  ///< [B,H,count,d] and [B,H,count,e]
  const T* log_sizes = nullptr;          ///< [count], of the tiles
  const int32_t* tiles = nullptr;        ///< [N], of the patches
  T* partials = nullptr;                 ///< [heads,query tiles,count,d + e]; the sums end where the first tile's were
  int64_t first_head = 0;                ///< of the partials, as head_index counts them
};

/// A call of attention on a support set; that of dense attention is DenseCall.
template <class T>
struct SupportCall : AnyCall<T> {
  uint64_t id = 0;  ///< never the same twice: a thread's copies of rows belong to one call
  const SupportSet* support = nullptr;
  T* delta = nullptr;                  ///< [B,H,Tq] out·grad_out, written for dq and read for dk, dv
  T* rest = nullptr;                   ///< [B,H,Tq] probability of an excluded pair; masking zero only
  const double* column_sum = nullptr;  ///< [B,H,e] of v, or of rest·grad_out in backward; masking zero only
  T* partials = nullptr;               ///< [B,H,cls,chunks,partial_size]
  KeptPairs<T> kept;                   ///< what the queries' gradients leave for those of the keys, if anything
  Summaries<T> summaries;
  int64_t partial_size = 0;
  ClassChunks query_chunks, key_chunks;
};

/// Which heads of which samples one task computes, one after another: those that add to the same bias gradient.
struct Grouping {
  int64_t samples, heads;  ///< tasks along these; the rest is inside

  template <class Visit>
  void for_each(const AttentionShape& shape, int64_t task, const Visit& visit) const {
    for (int64_t b = task / heads; b < shape.batch; b += samples) {
      for (int64_t h = task % heads; h < shape.heads; h += heads) visit(b, h);
    }
  }
};

template <class T>
Grouping group_by_bias(const AttentionShape& shape, const BiasView<T>& dbias) {
  if (dbias.data == nullptr) return {shape.batch, shape.heads};
  return {dbias.groups, dbias.head_stride == 0 ? 1 : shape.heads};
}

/// Where one tile stands.
struct TileIndex {
  int64_t b, h, tile;
};

/// Patch tokens [begin, end) of a tile; the chunk of tokens whose pairs with the class tokens it owns, if any.
struct TileRange {
  int64_t begin, end;
  int64_t chunk, chunk_begin, chunk_end;  ///< chunk is -1 where another tile owns it
};

inline TileRange tile_range(const ClassChunks& c, int64_t cls, int64_t tokens, int64_t tile) {
  TileRange r{cls + tile * kTileTokens, 0, -1, 0, 0};
  r.end = std::min(tokens, r.begin + kTileTokens);
  if (cls > 0 && tile % c.tiles_per_chunk == 0) {
    r.chunk = tile / c.tiles_per_chunk;
    r.chunk_begin = tile == 0 ? 0 : r.begin;
    r.chunk_end = std::min(tokens, r.begin + c.tiles_per_chunk * kTileTokens);
  }
  return r;
}

template <class T>
T* partial(const SupportCall<T>& call, const ClassChunks& chunks, TileIndex t, int64_t class_token, int64_t chunk) {
  const int64_t row = call.head_index(t.b, t.h) * call.support->cls() + class_token;
  return call.partials + (row * chunks.chunks + chunk) * call.partial_size;
}

/// Values that the queries of one head leave for the gradients of its summaries.
template <class T>
int64_t summary_partials(const SupportCall<T>& call) {
  return call.query_chunks.tiles * call.summaries.count * (call.shape.dim + call.shape.value_dim);
}

/// Those of one tile, [count, d + e].
template <class T>
T* summary_partial(const SupportCall<T>& call, TileIndex t) {
  const int64_t head = call.head_index(t.b, t.h) - call.summaries.first_head;
  return call.summaries.partials + head * summary_partials(call) +
         t.tile * (summary_partials(call) / call.query_chunks.tiles);
}

}  // namespace fib::kernels
