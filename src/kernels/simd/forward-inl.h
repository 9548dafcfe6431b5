// SPDX-License-Identifier: Apache-2.0
// Forward of one tile: out and log-sum-exp of its queries, and its share of the class tokens' rows. Included once per
// target.
#if defined(FIB_KERNELS_FORWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_FORWARD_INL_H_
#undef FIB_KERNELS_FORWARD_INL_H_
#else
#define FIB_KERNELS_FORWARD_INL_H_
#endif

#include "kernels/simd/softmax-inl.h"
#include "kernels/simd/tile_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

template <class T>
struct ForwardTile {
  const Call<T>& call;
  TileIndex at;
  Workspace<T>& ws;
  Rows<const T> q, k, v;
  PairTerms<T> terms;
  T* lse;

  ForwardTile(const Call<T>& c, TileIndex tile, Workspace<T>& w)
      : call(c),
        at(tile),
        ws(w),
        q(head_rows(c.inputs.q, tile)),
        k(head_rows(c.inputs.k, tile)),
        v(head_rows(c.inputs.v, tile)),
        terms(c, tile, true),
        lse(c.lse == nullptr ? nullptr : c.lse + c.head_index(tile.b, tile.h) * c.shape.query_tokens) {}

  /// Weights e^(score - top) of the panel in ws.scores and ws.loose_scores.
  RowValues<T> weigh() {
    T* scores = strip_scratch(ws.panel, ws.scores);
    T* loose = loose_scratch(ws.panel, ws.loose_scores);
    const RowValues<T> rows(ws.lane_values);
    dot_panel(ws.panel, q, k, call.shape.dim, call.scale, scores, loose);
    terms.add_bias(ws.panel, scores, loose);
    row_maxima(ws.panel, scores, loose, rows.top);
    if (call.options.masking == Masking::zero) raise_to_excluded(rows);
    exponentiate(ws.panel, scores, loose, rows);
    return rows;
  }

  /// An excluded pair has score 0 under masking zero, so no row's top may be lower.
  void raise_to_excluded(const RowValues<T>& rows) {
    for (int64_t i = 0; i < ws.panel.rows && ws.panel.self_step == 1; ++i) {
      if (excluded_keys(ws.panel, i, call.shape.key_tokens) > 0 && rows.top[i] < 0) rows.top[i] = 0;
    }
  }

  /// Adds the excluded keys to the sums, and takes their weight out of the support's: the column sum of v, added to
  /// every row later, holds all keys.
  void add_excluded(const RowValues<T>& rows) {
    for (int64_t i = 0; i < lanes<T>(); ++i) {
      const int64_t excluded = i < ws.panel.rows ? excluded_keys(ws.panel, i, call.shape.key_tokens) : 0;
      rows.rest[i] = excluded > 0 ? std::exp(-rows.top[i]) : T(0);
      rows.sum[i] += static_cast<T>(excluded) * rows.rest[i];
    }
    lower_rows(ws.panel, ws.scores.data(), ws.loose_scores.data(), rows.rest);
  }

  void add_column_sum(const RowValues<T>& rows, Rows<T> out) {
    const double* sum = call.column_sum + call.head_index(at.b, at.h) * call.shape.value_dim;
    for (int64_t i = 0; i < ws.panel.rows; ++i) {
      const double weight = static_cast<double>(rows.rest[i]) * static_cast<double>(rows.inverse[i]);
      for (int64_t c = 0; c < call.shape.value_dim; ++c) out.row(i)[c] += static_cast<T>(weight * sum[c]);
    }
  }

  void store_lse(const RowValues<T>& rows) {
    const Tag<T> d;
    if (lse == nullptr) return;
    const auto value = log_sum<T>(hn::Load(d, rows.top), hn::Load(d, rows.sum));
    if (ws.panel.rows == lanes<T>()) return hn::StoreU(value, d, lse + ws.panel.self);
    store_first(value, lse + ws.panel.self, ws.panel.rows);
  }

  void block() {
    const bool zero = call.options.masking == Masking::zero;
    const RowValues<T> rows = weigh();
    if (zero) add_excluded(rows);
    store_lse(rows);
    invert_sums(rows);
    T *weights = ws.scores.data(), *loose = ws.loose_scores.data();
    scale_rows(ws.panel, weights, loose, rows.inverse);
    terms.drop(ws.panel, weights, loose);
    const Rows<T> out{call.out.row(at.b, at.h, ws.panel.self), call.out.token_stride};
    sum_panel(ws.panel, weights, loose, v, call.shape.value_dim, out);
    if (zero) add_column_sum(rows, out);
  }

  void fetch_next(int64_t query) {
    const AttentionShape& s = call.shape;
    ws.panel.next.add(call.inputs.q, s, at, query, lanes<T>(), s.query_tokens, s.dim);
    ws.panel.next.add(call.out, s, at, query, lanes<T>(), s.query_tokens, s.value_dim);
  }

  /// Leaves (top, sum, Σ weight · v) of keys [begin, end) for class token c; the chunks are joined afterwards.
  void class_chunk(int64_t c, int64_t begin, int64_t end, T* into) {
    collect_class_token(c, begin, end, lanes<T>(), ws.panel);
    const RowValues<T> rows = weigh();
    into[0] = rows.top[0];
    into[1] = rows.sum[0];
    terms.drop(ws.panel, ws.scores.data(), ws.loose_scores.data());
    sum_class_rows(ws, v, call.shape.value_dim, ws.scores.data(), ws.loose_scores.data(), into + 2);
  }

  void clear(int64_t begin, int64_t end) {
    clear_rows(Rows<T>{call.out.row(at.b, at.h, begin), call.out.token_stride}, end - begin, call.shape.value_dim);
    for (int64_t j = begin; lse != nullptr && j < end; ++j) lse[j] = -std::numeric_limits<T>::infinity();
  }
};

template <class T>
void forward_tile(const Call<T>& call, TileIndex at, Workspace<T>& ws) {
  const int64_t cls = call.support->cls(), query_end = call.query_end(at.b), key_end = call.key_end(at.b);
  const TileRange range = tile_range(call.query_chunks, cls, call.shape.query_tokens, at.tile);
  const Neighbourhood keys = keys_of_queries(*call.support, at.h, key_end);
  ForwardTile<T> tile(call, at, ws);
  const OtherRows<T> k(call, at, ws.copies[0], call.inputs.k, call.shape.key_tokens, call.shape.dim, keys);
  const OtherRows<T> v(call, at, ws.copies[1], call.inputs.v, call.shape.key_tokens, call.shape.value_dim, keys);
  const auto read = [&](int64_t from, int64_t to) HWY_ATTR {
    tile.k = k.around(from, to);
    tile.v = v.around(from, to);
  };
  const int64_t end = HWY_MIN(range.end, query_end);
  for (int64_t j = range.begin; j < end; j += lanes<T>()) {
    collect_block(keys, j, HWY_MIN(lanes<T>(), end - j), lanes<T>(), ws.panel);
    tile.fetch_next(j + lanes<T>());
    k.fetch_after(j + lanes<T>(), ws.panel.next);
    v.fetch_after(j + lanes<T>(), ws.panel.next);
    read(j, j + lanes<T>());
    tile.block();
  }
  if (end < range.end) tile.clear(HWY_MAX(end, range.begin), range.end);
  if (range.chunk >= 0) read(range.begin, range.chunk_end);
  for (int64_t c = 0; range.chunk >= 0 && c < HWY_MIN(cls, query_end); ++c) {
    const int64_t chunk_end = HWY_MIN(range.chunk_end, call.support->causal() ? c + 1 : key_end);
    tile.class_chunk(c, range.chunk_begin, chunk_end, partial(call, call.query_chunks, at, c, range.chunk));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
