// SPDX-License-Identifier: Apache-2.0
// Forward of one tile: out and log-sum-exp of its queries, and its share of the class tokens' rows. Included once per
// target.
#if defined(FIB_KERNELS_FORWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_FORWARD_INL_H_
#undef FIB_KERNELS_FORWARD_INL_H_
#else
#define FIB_KERNELS_FORWARD_INL_H_
#endif

#include <cmath>

#include "kernels/simd/tile_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// Values per lane; lane i is row i of the block.
template <class T>
struct RowValues {
  T* row_max;  ///< largest score, 0 where there is none
  T* sum;      ///< of e^(score - row_max), excluded pairs included
  T* inverse;  ///< 1 / sum, 0 where the sum is 0
  T* rest;     ///< masking zero: e^(0 - row_max), the weight of an excluded pair

  explicit RowValues(Buffer<T>& buffer) {
    const int64_t n = lanes<T>();
    row_max = buffer.ensure(static_cast<size_t>(4 * n));
    sum = row_max + n, inverse = sum + n, rest = inverse + n;
  }
};

/// A class token's lanes are its keys: all lanes get what the row as a whole has.
template <class T, class Combine>
HWY_INLINE void spread_over_lanes(T* values, const Combine& combine) {
  T all = values[0];
  for (int64_t i = 1; i < lanes<T>(); ++i) all = combine(all, values[i]);
  for (int64_t i = 0; i < lanes<T>(); ++i) values[i] = all;
}

template <class T>
void row_maxima(const Panel& p, const T* scores, const T* loose_scores, T* row_max) {
  const Tag<T> d;
  const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto m = lowest;
  for (size_t s = 0; s < p.vectors(); ++s) m = hn::Max(m, hn::Load(d, scores + s * hn::Lanes(d)));
  hn::Store(m, d, row_max);
  for (int64_t t = 0; t < p.loose(); ++t) {
    T& row = row_max[p.lane[static_cast<size_t>(t)]];
    row = loose_scores[t] > row ? loose_scores[t] : row;
  }
  if (p.self_step == 0) spread_over_lanes(row_max, [](T a, T b) { return a > b ? a : b; });
  m = hn::Load(d, row_max);
  hn::Store(hn::IfThenZeroElse(hn::Eq(m, lowest), m), d, row_max);
}

/// scores := e^(score - row_max) in place, and their sums by row.
template <class T>
void exponentiate(const Panel& p, T* scores, T* loose_scores, const RowValues<T>& rows) {
  const Tag<T> d;
  const auto row_max = hn::Load(d, rows.row_max);
  auto sum = hn::Zero(d);
  for (size_t s = 0; s < p.vectors(); ++s) {
    const auto e = exponential<T>(hn::Sub(hn::Load(d, scores + s * hn::Lanes(d)), row_max));
    hn::Store(e, d, scores + s * hn::Lanes(d));
    sum = hn::Add(sum, e);
  }
  hn::Store(sum, d, rows.sum);
  for (int64_t t = 0; t < p.loose(); ++t) loose_scores[t] -= rows.row_max[p.lane[static_cast<size_t>(t)]];
  for (int64_t t = 0; t < p.loose(); t += lanes<T>()) {
    hn::Store(exponential<T>(hn::Load(d, loose_scores + t)), d, loose_scores + t);
  }
  for (int64_t t = 0; t < p.loose(); ++t) rows.sum[p.lane[static_cast<size_t>(t)]] += loose_scores[t];
  if (p.self_step == 0) spread_over_lanes(rows.sum, [](T a, T b) { return a + b; });
}

template <class T>
HWY_INLINE void invert_sums(const RowValues<T>& rows) {
  const Tag<T> d;
  const auto sum = hn::Load(d, rows.sum);
  hn::Store(hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(d)), hn::Div(hn::Set(d, T(1)), sum)), d, rows.inverse);
}

/// values of row i *= factor [i].
template <class T>
void scale_rows(const Panel& p, T* values, T* loose_values, const T* factor) {
  const Tag<T> d;
  const auto f = hn::Load(d, factor);
  for (size_t s = 0; s < p.vectors(); ++s) {
    T* at = values + s * hn::Lanes(d);
    hn::Store(hn::Mul(hn::Load(d, at), f), d, at);
  }
  for (int64_t t = 0; t < p.loose(); ++t) loose_values[t] *= factor[p.lane[static_cast<size_t>(t)]];
}

/// values of row i -= amount [i].
template <class T>
void subtract_rows(const Panel& p, T* values, T* loose_values, const T* amount) {
  const Tag<T> d;
  const auto a = hn::Load(d, amount);
  for (size_t s = 0; s < p.vectors(); ++s) {
    T* at = values + s * hn::Lanes(d);
    hn::Store(hn::Sub(hn::Load(d, at), a), d, at);
  }
  for (int64_t t = 0; t < p.loose(); ++t) loose_values[t] -= amount[p.lane[static_cast<size_t>(t)]];
}

/// Keys of row i outside the support.
inline int64_t excluded_keys(const Panel& p, int64_t row, int64_t key_tokens) { return key_tokens - p.tokens_of(row); }

template <class T>
struct ForwardTile {
  static constexpr bool kSelfIsQuery = true;
  const SupportCall<T>& call;
  TileIndex at;
  Workspace<T>& ws;
  Rows<const T> q, k, v;
  PairTerms<T> terms;
  T* lse;

  ForwardTile(const SupportCall<T>& c, TileIndex tile, Workspace<T>& w)
      : call(c),
        at(tile),
        ws(w),
        q(head_rows(c.inputs.q, tile)),
        k(head_rows(c.inputs.k, tile)),
        v(head_rows(c.inputs.v, tile)),
        terms(c, tile, true),
        lse(c.lse == nullptr ? nullptr : c.lse + c.head_index(tile.b, tile.h) * c.shape.query_tokens) {}

  /// Weights e^(score - row_max) of the panel in ws.scores and ws.loose_scores.
  RowValues<T> weigh() {
    T* scores = strip_scratch(ws.panel, ws.scores);
    T* loose = loose_scratch(ws.panel, ws.loose_scores);
    const RowValues<T> rows(ws.lane_values);
    dot_panel(ws.panel, q, k, call.shape.dim, call.scale, scores, loose);
    terms.add_bias(ws.panel, scores, loose);
    fill_masked(ws.panel, scores, -std::numeric_limits<T>::infinity());
    if (ws.panel.summaries > 0) score_summaries(scores + ws.panel.strips.size() * lanes<T>());
    row_maxima(ws.panel, scores, loose, rows.row_max);
    if (call.options.masking == Masking::zero) raise_to_excluded(rows);
    exponentiate(ws.panel, scores, loose, rows);
    return rows;
  }

  void score_summaries(T* scores) {
    const Tag<T> d;
    dot_summaries(ws.panel, q, own_summaries(call, at, call.summaries.keys, call.shape.dim), call.shape.dim, call.scale,
                  scores);
    for (int64_t s = 0; s < ws.panel.summaries; ++s, scores += lanes<T>())
      hn::Store(hn::Add(hn::Load(d, scores), hn::Set(d, call.summaries.log_sizes[s])), d, scores);
  }

  /// An excluded pair has score 0 under masking zero, so no row's maximum may be lower.
  void raise_to_excluded(const RowValues<T>& rows) {
    for (int64_t i = 0; i < ws.panel.rows && ws.panel.self_step == 1; ++i) {
      if (excluded_keys(ws.panel, i, call.shape.key_tokens) > 0 && rows.row_max[i] < 0) rows.row_max[i] = 0;
    }
  }

  /// Adds the excluded keys to the sums, and takes their weight out of the support's: the column sum of v, added to
  /// every row later, holds all keys.
  void add_excluded(const RowValues<T>& rows) {
    for (int64_t i = 0; i < lanes<T>(); ++i) {
      const int64_t excluded = i < ws.panel.rows ? excluded_keys(ws.panel, i, call.shape.key_tokens) : 0;
      rows.rest[i] = excluded > 0 ? std::exp(-rows.row_max[i]) : T(0);
      rows.sum[i] += static_cast<T>(excluded) * rows.rest[i];
    }
    subtract_rows(ws.panel, ws.scores.data(), ws.loose_scores.data(), rows.rest);
    fill_masked(ws.panel, ws.scores.data(), T(0));
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
    const auto value = log_sum<T>(hn::Load(d, rows.row_max), hn::Load(d, rows.sum));
    if (ws.panel.rows == lanes<T>()) return hn::StoreU(value, d, lse + ws.panel.self);
    store_first(value, lse + ws.panel.self, ws.panel.rows);
  }

  void read(Rows<const T> keys, Rows<const T> values) { k = keys, v = values; }
  void begin_tile(int64_t, int64_t) {}

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
    sum_summaries(ws.panel, weights + ws.panel.strips.size() * lanes<T>(),
                  own_summaries(call, at, call.summaries.values, call.shape.value_dim), call.shape.value_dim, out);
    if (zero) add_column_sum(rows, out);
  }

  void fetch_next(int64_t query) {
    const AttentionShape& s = call.shape;
    ws.panel.next.add(call.inputs.q, s, at, query, lanes<T>(), s.query_tokens, s.dim);
    ws.panel.next.add(call.out, s, at, query, lanes<T>(), s.query_tokens, s.value_dim);
  }

  void begin_classes(int64_t, int64_t) {}

  /// Leaves (row_max, sum, Σ weight · v) of the keys in the panel; the chunks are joined afterwards.
  void class_token(T* into) {
    const RowValues<T> rows = weigh();
    into[0] = rows.row_max[0];
    into[1] = rows.sum[0];
    terms.drop(ws.panel, ws.scores.data(), ws.loose_scores.data());
    sum_class_rows(ws, v, call.shape.value_dim, ws.scores.data(), ws.loose_scores.data(), into + 2);
  }

  void clear(int64_t begin, int64_t end) {
    clear_rows(Rows<T>{call.out.row(at.b, at.h, begin), call.out.token_stride}, end - begin, call.shape.value_dim);
    for (int64_t j = begin; lse != nullptr && j < end; ++j) lse[j] = -std::numeric_limits<T>::infinity();
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
