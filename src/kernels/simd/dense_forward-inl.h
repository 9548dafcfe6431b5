// SPDX-License-Identifier: Apache-2.0
// Dense attention of one tile of queries: scores never leave the caches. Included once per target.
#if defined(FIB_KERNELS_DENSE_FORWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_DENSE_FORWARD_INL_H_
#undef FIB_KERNELS_DENSE_FORWARD_INL_H_
#else
#define FIB_KERNELS_DENSE_FORWARD_INL_H_
#endif

#include "kernels/simd/dense_strips-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// What a panel's softmax knows so far; W values each.
template <class T>
struct RunningSoftmax {
  T* row_max;  ///< largest score, -inf where there is none
  T* sum;      ///< of e^(score - row_max)
  T* factor;   ///< by which the last block changed what was summed before it

  explicit RunningSoftmax(T* memory)
      : row_max(memory), sum(memory + kPanelWidth<T>), factor(memory + 2 * kPanelWidth<T>) {}

  void begin() const {
    std::fill_n(row_max, kPanelWidth<T>, -std::numeric_limits<T>::infinity());
    std::fill_n(sum, kPanelWidth<T>, T(0));
  }

  /// strip := e^(score - row_max) in place.
  void add(T* HWY_RESTRICT strip, int64_t keys) const {
    const Tag<T> d;
    const int64_t n = lanes<T>();
    constexpr int64_t W = kPanelWidth<T>;
    const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
    const auto before0 = hn::Load(d, row_max), before1 = hn::Load(d, row_max + n);
    auto row_max0 = before0, row_max1 = before1;
    for (int64_t j = 0; j < keys; ++j) {
      row_max0 = hn::Max(row_max0, hn::Load(d, strip + j * W));
      row_max1 = hn::Max(row_max1, hn::Load(d, strip + j * W + n));
    }
    hn::Store(row_max0, d, row_max);
    hn::Store(row_max1, d, row_max + n);
    row_max0 = hn::IfThenZeroElse(hn::Eq(row_max0, lowest), row_max0);
    row_max1 = hn::IfThenZeroElse(hn::Eq(row_max1, lowest), row_max1);
    const auto factor0 = exponential<T>(hn::Sub(before0, row_max0)),
               factor1 = exponential<T>(hn::Sub(before1, row_max1));
    auto sum0 = hn::Mul(hn::Load(d, sum), factor0), sum1 = hn::Mul(hn::Load(d, sum + n), factor1);
    for (int64_t j = 0; j < keys; ++j) {
      const auto e0 = exponential<T>(hn::Sub(hn::Load(d, strip + j * W), row_max0));
      const auto e1 = exponential<T>(hn::Sub(hn::Load(d, strip + j * W + n), row_max1));
      hn::Store(e0, d, strip + j * W);
      hn::Store(e1, d, strip + j * W + n);
      sum0 = hn::Add(sum0, e0);
      sum1 = hn::Add(sum1, e1);
    }
    hn::Store(factor0, d, factor);
    hn::Store(factor1, d, factor + n);
    hn::Store(sum0, d, sum);
    hn::Store(sum1, d, sum + n);
  }
};

/// out rows of queries [0, count) of a panel = sums [channels, W] / sum, and their log-sum-exp.
template <class T>
void finish_panel(const RunningSoftmax<T>& rows, T* sums, int64_t channels, int64_t count, Rows<T> out, T* lse) {
  const Tag<T> d;
  const int64_t n = lanes<T>();
  constexpr int64_t W = kPanelWidth<T>;
  for (int64_t v = 0; v < W; v += n) {
    const auto sum = hn::Load(d, rows.sum + v);
    const auto inverse = hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(d)), hn::Div(hn::Set(d, T(1)), sum));
    for (int64_t c = 0; c < channels; ++c) {
      hn::Store(hn::Mul(hn::Load(d, sums + c * W + v), inverse), d, sums + c * W + v);
    }
    hn::Store(log_sum<T>(hn::Load(d, rows.row_max + v), sum), d, rows.factor + v);
  }
  transpose<T>({sums, W}, channels, count, T(1), out);
  if (lse != nullptr) std::copy_n(rows.factor, count, lse);
}

template <class T>
struct DenseForward : DenseHead<T> {
  using DenseHead<T>::call, DenseHead<T>::ws, DenseHead<T>::W;
  StripTerms<T> terms = DenseHead<T>::terms(W);
  T *queries = nullptr, *sums = nullptr, *softmax = nullptr;  ///< per panel [d,W], [e,W], [3,W]
  int64_t begin, end, panels;                                 ///< queries of this tile

  DenseForward(const DenseCall<T>& c, DenseTile at, DenseWorkspace<T>& w)
      : DenseHead<T>(c, at.b, at.h, w),
        begin(at.tile * kDensePanels * W),
        end(HWY_MIN(begin + kDensePanels * W, this->query_end)),
        panels(HWY_MAX(int64_t{0}, end - begin + W - 1) / W) {}

  void pack_queries() {
    const AttentionShape& s = call.shape;
    queries = ws.queries.ensure(static_cast<size_t>(kDensePanels * s.dim * W));
    sums = ws.sums.ensure(static_cast<size_t>(kDensePanels * s.value_dim * W));
    softmax = ws.lane_values.ensure(static_cast<size_t>(3 * kDensePanels * W));
    std::fill_n(sums, panels * s.value_dim * W, T(0));
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t first = begin + p * W;
      pack_panel<T>({this->q.row(first), this->q.stride}, HWY_MIN(W, end - first), s.dim, call.scale,
                    queries + p * s.dim * W);
      RunningSoftmax<T>(softmax + 3 * p * W).begin();
    }
  }

  /// A panel with a block of keys.
  void add(int64_t p, const StripRange& r, Rows<const T> keys, Rows<const T> values) {
    const AttentionShape& s = call.shape;
    const RunningSoftmax<T> rows(softmax + 3 * p * W);
    T* strip = ws.scores.ensure(static_cast<size_t>(kDenseMostKeys * W));
    this->dot(keys, queries + p * s.dim * W, s.dim, r, strip, W);
    terms.add_bias(r, strip);
    terms.mask(r, strip);
    rows.add(strip, r.end - r.begin);
    terms.drop(r, strip);
    multiply<2, Into::add_to_scaled, T>(
        {values.data, 1, values.stride, strip, W, r.end - r.begin, sums + p * s.value_dim * W, W}, s.value_dim,
        rows.factor);
  }

  void attend() {
    const AttentionShape& s = call.shape;
    const int64_t keys_end = this->keys_before(end), block = dense_block(this->key_end);
    for (int64_t from = 0; from < keys_end; from += block) {
      const int64_t to = HWY_MIN(from + block, keys_end);
      const Rows<const T> keys = near_rows(this->k, from, to - from, s.dim, ws.keys);
      const Rows<const T> values = near_rows(this->v, from, to - from, s.value_dim, ws.values);
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t first = begin + p * W, last = HWY_MIN(first + W, end);
        const StripRange r{first, last - first, from, HWY_MIN(to, this->keys_before(last))};
        if (r.begin < r.end) add(p, r, keys, values);
      }
    }
  }

  void finish() {
    const AttentionShape& s = call.shape;
    const Rows<T> out = this->rows(call.out);
    T* lse = call.lse == nullptr ? nullptr : call.lse + this->first_query();
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t first = begin + p * W;
      finish_panel<T>(RunningSoftmax<T>(softmax + 3 * p * W), sums + p * s.value_dim * W, s.value_dim,
                      HWY_MIN(W, end - first), {out.row(first), out.stride}, lse == nullptr ? nullptr : lse + first);
    }
    const int64_t padding = HWY_MAX(begin, end), tile_end = HWY_MIN(begin + kDensePanels * W, s.query_tokens);
    if (padding >= tile_end) return;
    clear_rows(Rows<T>{out.row(padding), out.stride}, tile_end - padding, s.value_dim);
    for (int64_t j = padding; lse != nullptr && j < tile_end; ++j) lse[j] = -std::numeric_limits<T>::infinity();
  }
};

template <class T>
void dense_forward(const DenseCall<T>& call, DenseTile at, DenseWorkspace<T>& ws) {
  DenseForward<T> tile(call, at, ws);
  tile.pack_queries();
  tile.attend();
  tile.finish();
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
