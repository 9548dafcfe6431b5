// SPDX-License-Identifier: Apache-2.0
// One head of dense attention and the terms of its strips: bias, causal mask, dropout. Included once per target.
#if defined(FIB_KERNELS_DENSE_STRIPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_DENSE_STRIPS_INL_H_
#undef FIB_KERNELS_DENSE_STRIPS_INL_H_
#else
#define FIB_KERNELS_DENSE_STRIPS_INL_H_
#endif

#include <limits>

#include "kernels/dense.h"
#include "kernels/simd/dense_product-inl.h"
#include "kernels/simd/tile_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// Rows of a block of tokens, copied together where they lie far apart: in a packed qkv they would use a quarter of
/// the first-level cache.
template <class T>
Rows<const T> near_rows(Rows<const T> from, int64_t begin, int64_t count, int64_t channels, Buffer<T>& copy) {
  const Rows<const T> rows{from.row(begin), from.stride};
  if (!far_apart(from.stride, channels)) return rows;
  T* into = copy.ensure(static_cast<size_t>(count * channels));
  for (int64_t i = 0; i < count; ++i) std::copy_n(rows.row(i), channels, into + i * channels);
  return {into, channels};
}

/// The queries [first, first + count) of a panel and the keys [begin, end) of a block.
struct StripRange {
  int64_t first, count, begin, end;
};

/// Bias, causal mask and dropout of strips of one (sample, head).
template <class T>
struct StripTerms {
  PairTerms<T> pair;
  bool causal;
  int64_t row;  ///< from one key of a strip to the next

  void mask(const StripRange& r, T* strip) const {
    for (int64_t j = HWY_MAX(r.begin, r.first + 1); causal && j < r.end; ++j) {
      std::fill_n(strip + (j - r.begin) * row, HWY_MIN(kPanelWidth<T>, j - r.first),
                  -std::numeric_limits<T>::infinity());
    }
  }

  void add_bias(const StripRange& r, T* strip) const {
    for (int64_t i = 0; pair.bias != nullptr && i < r.count; ++i) {
      const T* from = pair.bias + (r.first + i) * pair.bias_query + r.begin * pair.bias_key;
      for (int64_t j = 0; j < r.end - r.begin; ++j) strip[j * row + i] += from[j * pair.bias_key];
    }
  }

  void add_bias_gradient(const StripRange& r, const T* strip) const {
    for (int64_t i = 0; pair.dbias != nullptr && i < r.count; ++i) {
      T* to = pair.dbias + (r.first + i) * pair.dbias_query + r.begin * pair.dbias_key;
      for (int64_t j = 0; j < r.end - r.begin; ++j) to[j * pair.dbias_key] += strip[j * row + i];
    }
  }

  /// Zero for dropped pairs, 1 / (1 - probability) times the value for the others.
  void drop(const StripRange& r, T* strip) const {
    for (int64_t j = r.begin; pair.drops && j < r.end; ++j, strip += row) {
      for (int64_t i = 0; i < kPanelWidth<T>; ++i) {
        strip[i] = pair.stream.bits(r.first + i, j) < pair.threshold ? T(0) : strip[i] * pair.kept;
      }
    }
  }
};

/// One head as a task sees it.
template <class T>
struct DenseHead {
  static constexpr int64_t W = kPanelWidth<T>;
  const DenseCall<T>& call;
  int64_t b, h;
  DenseWorkspace<T>& ws;
  Rows<const T> q, k, v;
  int64_t query_end, key_end;

  DenseHead(const DenseCall<T>& c, int64_t sample, int64_t head, DenseWorkspace<T>& w)
      : call(c),
        b(sample),
        h(head),
        ws(w),
        q(rows(c.inputs.q)),
        k(rows(c.inputs.k)),
        v(rows(c.inputs.v)),
        query_end(c.query_end(sample)),
        key_end(c.key_end(sample)) {}

  template <class View>
  auto rows(const View& view) const {
    return head_rows(view, TileIndex{b, h, 0});
  }
  StripTerms<T> terms(int64_t row) const { return {PairTerms<T>(call, TileIndex{b, h, 0}, true), call.causal, row}; }
  int64_t first_query() const { return call.head_index(b, h) * call.shape.query_tokens; }
  /// Keys that any of the queries before `end` sees.
  int64_t keys_before(int64_t end) const { return call.causal ? HWY_MIN(key_end, end) : key_end; }

  /// strip [keys, row] = rows of `other` · panel; one product for scores and for grad_out · v.
  void dot(Rows<const T> other, const T* panel, int64_t channels, const StripRange& r, T* strip, int64_t row) const {
    multiply<2, Into::replace, T>({other.data, other.stride, 1, panel, W, channels, strip, row}, r.end - r.begin);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
