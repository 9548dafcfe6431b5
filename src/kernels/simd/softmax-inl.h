// SPDX-License-Identifier: Apache-2.0
// Softmax of a panel's rows, all rows of the block at once. Included once per target.
#if defined(FIB_KERNELS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_SOFTMAX_INL_H_
#undef FIB_KERNELS_SOFTMAX_INL_H_
#else
#define FIB_KERNELS_SOFTMAX_INL_H_
#endif

#include <cmath>

#include "kernels/panel.h"
#include "kernels/simd/vectors-inl.h"
#include "kernels/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// Values per lane; lane i is row i of the block.
template <class T>
struct RowValues {
  T* top;      ///< largest score, 0 where there is none
  T* sum;      ///< of e^(score - top), excluded pairs included
  T* inverse;  ///< 1 / sum, 0 where the sum is 0
  T* rest;     ///< masking zero: e^(0 - top), the weight of an excluded pair

  explicit RowValues(Buffer<T>& buffer) {
    const int64_t n = lanes<T>();
    top = buffer.ensure(static_cast<size_t>(4 * n));
    sum = top + n, inverse = sum + n, rest = inverse + n;
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
void row_maxima(const Panel& p, const T* scores, const T* loose_scores, T* top) {
  const Tag<T> d;
  const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto m = lowest;
  for (size_t s = 0; s < p.strips.size(); ++s) m = hn::Max(m, hn::Load(d, scores + s * hn::Lanes(d)));
  hn::Store(m, d, top);
  for (int64_t t = 0; t < p.loose(); ++t) {
    T& row = top[p.lane[static_cast<size_t>(t)]];
    row = loose_scores[t] > row ? loose_scores[t] : row;
  }
  if (p.self_step == 0) spread_over_lanes(top, [](T a, T b) { return a > b ? a : b; });
  m = hn::Load(d, top);
  hn::Store(hn::IfThenZeroElse(hn::Eq(m, lowest), m), d, top);
}

/// scores := e^(score - top) in place, and their sums by row.
template <class T>
void exponentiate(const Panel& p, T* scores, T* loose_scores, const RowValues<T>& rows) {
  const Tag<T> d;
  const auto top = hn::Load(d, rows.top);
  auto sum = hn::Zero(d);
  for (size_t s = 0; s < p.strips.size(); ++s) {
    const auto e = exponential<T>(hn::Sub(hn::Load(d, scores + s * hn::Lanes(d)), top));
    hn::Store(e, d, scores + s * hn::Lanes(d));
    sum = hn::Add(sum, e);
  }
  hn::Store(sum, d, rows.sum);
  for (int64_t t = 0; t < p.loose(); ++t) loose_scores[t] -= rows.top[p.lane[static_cast<size_t>(t)]];
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
  for (size_t s = 0; s < p.strips.size(); ++s) {
    T* at = values + s * hn::Lanes(d);
    hn::Store(hn::Mul(hn::Load(d, at), f), d, at);
  }
  for (int64_t t = 0; t < p.loose(); ++t) loose_values[t] *= factor[p.lane[static_cast<size_t>(t)]];
}

/// values of row i -= amount [i].
template <class T>
void lower_rows(const Panel& p, T* values, T* loose_values, const T* amount) {
  const Tag<T> d;
  const auto a = hn::Load(d, amount);
  for (size_t s = 0; s < p.strips.size(); ++s) {
    T* at = values + s * hn::Lanes(d);
    hn::Store(hn::Sub(hn::Load(d, at), a), d, at);
  }
  for (int64_t t = 0; t < p.loose(); ++t) loose_values[t] -= amount[p.lane[static_cast<size_t>(t)]];
}

/// Keys of row i outside the support.
inline int64_t excluded_keys(const Panel& p, int64_t row, int64_t key_tokens) {
  return key_tokens - static_cast<int64_t>(p.strips.size()) - p.loose_of(row);
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
