// SPDX-License-Identifier: Apache-2.0
// Gradients of dense attention of one head: probabilities are computed again from the log-sum-exp. Included once per
// target.
#if defined(FIB_KERNELS_DENSE_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_DENSE_BACKWARD_INL_H_
#undef FIB_KERNELS_DENSE_BACKWARD_INL_H_
#else
#define FIB_KERNELS_DENSE_BACKWARD_INL_H_
#endif

#include "kernels/simd/dense_strips-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

template <class T>
T row_dot(const T* a, const T* b, int64_t channels) {
  const Tag<T> d;
  return hn::GetLane(hn::SumOfLanes(d, products<0, T>(a, b, channels)));
}

/// All gradients of one head: spans of keys one after another, for each all queries. Those of the queries gather in
/// panels and are written at the end.
template <class T>
struct DenseBackward : DenseHead<T> {
  using DenseHead<T>::call, DenseHead<T>::ws, DenseHead<T>::W;
  static constexpr int64_t kGroup = kDenseGroup * W;  ///< queries whose strips lie side by side, [keys, kGroup]
  StripTerms<T> terms = DenseHead<T>::terms(kGroup);
  const AttentionShape& s;
  int64_t panels, block;
  int64_t d_padded, e_padded;     ///< channels in whole vectors
  T *queries, *gradients, *dq;    ///< per panel [d,W], [e,W], [d,W]
  T *query_rows, *gradient_rows;  ///< per query [d_padded], [e_padded]
  T *lse, *delta;                 ///< per query
  T *scores, *products;           ///< [keys, kGroup]: probabilities and gradients of the scores
  T *dk, *dv;                     ///< of a span: [keys, d_padded], [keys, e_padded]

  DenseBackward(const DenseCall<T>& c, int64_t sample, int64_t head, DenseWorkspace<T>& w)
      : DenseHead<T>(c, sample, head, w),
        s(c.shape),
        panels((this->query_end + W - 1) / W),
        block(dense_block(this->key_end)) {
    const int64_t n = lanes<T>(), padded = (panels + kDenseGroup) * W;
    d_padded = (s.dim + n - 1) / n * n, e_padded = (s.value_dim + n - 1) / n * n;
    const auto room = [](Buffer<T>& buffer, int64_t count) { return buffer.ensure(static_cast<size_t>(count)); };
    queries = room(ws.queries, padded * s.dim);
    gradients = room(ws.gradients, padded * s.value_dim);
    dq = room(ws.sums, padded * s.dim);
    query_rows = room(ws.query_rows, padded * d_padded);
    gradient_rows = room(ws.gradient_rows, padded * e_padded);
    lse = room(ws.lane_values, 2 * padded), delta = lse + padded;
    scores = room(ws.scores, block * kGroup);
    products = room(ws.products, block * kGroup);
    dk = room(ws.dk, dense_span() * block * d_padded);
    dv = room(ws.dv, dense_span() * block * e_padded);
  }

  int64_t in_panel(int64_t p) const { return HWY_MIN(W, this->query_end - p * W); }

  void pack_queries() {
    const Rows<const T> grad_out = this->rows(call.grad_out), out = this->rows(call.saved_out);
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t first = p * W, count = in_panel(p);
      const Rows<const T> query{this->q.row(first), this->q.stride}, g{grad_out.row(first), grad_out.stride};
      pack_panel<T>(query, count, s.dim, call.scale, queries + first * s.dim);
      pack_panel<T>(g, count, s.value_dim, T(1), gradients + first * s.value_dim);
      pad_rows<T>(query, count, s.dim, d_padded, query_rows + first * d_padded);
      pad_rows<T>(g, count, s.value_dim, e_padded, gradient_rows + first * e_padded);
    }
    std::fill_n(dq, panels * W * s.dim, T(0));
    // Lanes without a query, and queries without keys, have probabilities 0.
    std::fill_n(lse, 2 * (panels + kDenseGroup) * W, std::numeric_limits<T>::infinity());
    std::fill_n(delta, panels * W, T(0));
    for (int64_t j = 0; j < this->query_end; ++j) {
      const T value = call.saved_lse[this->first_query() + j];
      if (value != -std::numeric_limits<T>::infinity()) lse[j] = value;
      delta[j] = row_dot(grad_out.row(j), out.row(j), s.value_dim);
    }
  }

  /// p = e^(score - lse) in place of the scores, ds = p (keep · grad_out·v - delta) in place of grad_out·v.
  void weigh(const StripRange& r, T* HWY_RESTRICT p, T* HWY_RESTRICT ds) const {
    const Tag<T> d;
    for (int64_t lane = 0; lane < W; lane += lanes<T>()) {
      const auto row_lse = hn::Load(d, lse + r.first + lane), row_delta = hn::Load(d, delta + r.first + lane);
      for (int64_t j = lane; j < lane + (r.end - r.begin) * kGroup; j += kGroup) {
        const auto weight = exponential<T>(hn::Sub(hn::Load(d, p + j), row_lse));
        hn::Store(weight, d, p + j);
        hn::Store(hn::Mul(weight, hn::Sub(hn::Load(d, ds + j), row_delta)), d, ds + j);
      }
    }
  }

  /// Strips of one panel, and what they add to its dq.
  void add_panel(const StripRange& r, Rows<const T> keys, Rows<const T> values, T* p, T* ds) {
    this->dot(keys, queries + r.first * s.dim, s.dim, r, p, kGroup);
    terms.add_bias(r, p);
    terms.mask(r, p);
    this->dot(values, gradients + r.first * s.value_dim, s.value_dim, r, ds, kGroup);
    terms.drop(r, ds);
    weigh(r, p, ds);
    terms.add_bias_gradient(r, ds);
    terms.drop(r, p);
    multiply<2, Into::add, T>({keys.data, 1, keys.stride, ds, kGroup, r.end - r.begin, dq + r.first * s.dim, W}, s.dim);
  }

  /// into [keys, padded] += strips^T · rows of `count` queries.
  void add_keys(const T* strips, const T* rows, int64_t count, int64_t padded, int64_t keys, T* into) const {
    const int64_t n = lanes<T>();
    int64_t c = 0;
    for (; c + 2 * n <= padded; c += 2 * n) {
      multiply<2, Into::add, T>({strips, kGroup, 1, rows + c, padded, count, into + c, padded}, keys);
    }
    if (c < padded) multiply<1, Into::add, T>({strips, kGroup, 1, rows + c, padded, count, into + c, padded}, keys);
  }

  /// A block of keys with the panels [p, p + kDenseGroup); the rows and gradients are the block's.
  void add_block(int64_t p, int64_t from, int64_t to, Rows<const T> keys, Rows<const T> values, T* block_dk,
                 T* block_dv) {
    const int64_t group = HWY_MIN(int64_t{kDenseGroup}, panels - p);
    for (int64_t i = 0; i < group; ++i) {
      const StripRange r{(p + i) * W, in_panel(p + i), from, to};
      add_panel(r, keys, values, scores + i * W, products + i * W);
    }
    const int64_t count = HWY_MIN(group * W, this->query_end - p * W);
    add_keys(products, query_rows + p * W * d_padded, count, d_padded, to - from, block_dk);
    add_keys(scores, gradient_rows + p * W * e_padded, count, e_padded, to - from, block_dv);
  }

  /// A span of keys with all queries that see it.
  void add_span(int64_t from, int64_t to) {
    const int64_t n = to - from;
    const Rows<const T> keys = near_rows(this->k, from, n, s.dim, ws.keys);
    const Rows<const T> values = near_rows(this->v, from, n, s.value_dim, ws.values);
    std::fill_n(dk, n * d_padded, T(0));
    std::fill_n(dv, n * e_padded, T(0));
    for (int64_t p = call.causal ? from / W : 0; p < panels; p += kDenseGroup) {
      const int64_t last = call.causal ? HWY_MIN(to, (p + kDenseGroup) * W) : to;
      for (int64_t j = from; j < last; j += block) {
        add_block(p, j, HWY_MIN(j + block, to), {keys.row(j - from), keys.stride},
                  {values.row(j - from), values.stride}, dk + (j - from) * d_padded, dv + (j - from) * e_padded);
      }
    }
    write_rows(dk, d_padded, s.dim, call.scale, n, from, this->rows(call.gradients.dk));
    write_rows(dv, e_padded, s.value_dim, T(1), n, from, this->rows(call.gradients.dv));
  }

  static void write_rows(const T* rows, int64_t padded, int64_t channels, T factor, int64_t count, int64_t first,
                         Rows<T> into) {
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t c = 0; c < channels; ++c) into.row(first + j)[c] = factor * rows[j * padded + c];
    }
  }

  void finish() {
    const Rows<T> into = this->rows(call.gradients.dq), keys = this->rows(call.gradients.dk),
                  values = this->rows(call.gradients.dv);
    for (int64_t p = 0; p < panels; ++p) {
      transpose<T>({dq + p * W * s.dim, W}, s.dim, in_panel(p), call.scale, {into.row(p * W), into.stride});
    }
    const int64_t queries_left = s.query_tokens - this->query_end, keys_left = s.key_tokens - this->key_end;
    clear_rows(Rows<T>{into.row(this->query_end), into.stride}, queries_left, s.dim);
    clear_rows(Rows<T>{keys.row(this->key_end), keys.stride}, keys_left, s.dim);
    clear_rows(Rows<T>{values.row(this->key_end), values.stride}, keys_left, s.value_dim);
  }
};

template <class T>
void dense_backward(const DenseCall<T>& call, DenseTile at, DenseWorkspace<T>& ws) {
  DenseBackward<T> head(call, at.b, at.h, ws);
  head.pack_queries();
  const int64_t span = dense_span() * head.block;
  for (int64_t from = 0; from < head.key_end; from += span) head.add_span(from, HWY_MIN(from + span, head.key_end));
  head.finish();
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
