// SPDX-License-Identifier: Apache-2.0
// Weighted sums of other rows into self rows. Included once per target.
#if defined(FIB_KERNELS_ACCUMULATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_ACCUMULATE_INL_H_
#undef FIB_KERNELS_ACCUMULATE_INL_H_
#else
#define FIB_KERNELS_ACCUMULATE_INL_H_
#endif

#include "kernels/call.h"
#include "kernels/panel.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// Eight sums hide the latency of multiply-add (4 cycles, 2 per cycle) and fit the 16 registers of AVX2: some rows
/// times some vectors of channels. They are named and not an array, which GCC would keep on the stack.
#define FIB_EACH_SUM(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
inline constexpr int kSums = 8;

/// Rows summed side by side when each takes this many vectors: a power of two, never more than there are lanes.
template <class T>
constexpr int rows_at_once(int vectors) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag<T>()));
  int rows = 1;
  while (2 * rows * vectors <= kSums && 2 * rows <= kLanes) rows *= 2;
  return rows;
}

/// Vector v of the `kVectors` at p; the last one has only `tail` elements if kTail.
template <int kVectors, bool kTail, class T>
HWY_INLINE Vec<T> load_part(const T* HWY_RESTRICT p, int v, int64_t tail) {
  if (kTail && v == kVectors - 1) return load_first(p + v * lanes<T>(), tail);
  return hn::LoadU(Tag<T>(), p + v * lanes<T>());
}

template <int kVectors, bool kTail, class T>
HWY_INLINE void store_part(Vec<T> value, T* HWY_RESTRICT p, int v, int64_t tail) {
  if (kTail && v == kVectors - 1) return store_first(value, p + v * lanes<T>(), tail);
  hn::StoreU(value, Tag<T>(), p + v * lanes<T>());
}

/// into row i = sum over strips of weights [strip, i] · other row. The pointers stand at the first channel.
template <int kVectors, bool kTail, class T>
void sum_strips(const Panel& panel, const T* weights, Rows<const T> other, int64_t tail, Rows<T> into) {
  const Tag<T> d;
  constexpr int kRows = rows_at_once<T>(kVectors), kUsed = kRows * kVectors;
  const int64_t n = lanes<T>();
  for (int64_t i = 0; i < n; i += kRows) {
    const T* HWY_RESTRICT w = weights + i;
#define FIB_ZERO(k) auto sum##k = hn::Zero(d);
    FIB_EACH_SUM(FIB_ZERO)
#undef FIB_ZERO
    for (const Strip& strip : panel.strips) {
      const int64_t step = other.stride * strip.step;
      const T* HWY_RESTRICT p = other.row(strip.first) + i * step;
#define FIB_ADD(k)                                                                                        \
  if constexpr (k < kUsed) {                                                                              \
    sum##k = hn::MulAdd(hn::Set(d, w[k / kVectors]),                                                      \
                        load_part<kVectors, kTail>(p + k / kVectors * step, k % kVectors, tail), sum##k); \
  }
      FIB_EACH_SUM(FIB_ADD)
#undef FIB_ADD
      w += n;
    }
#define FIB_STORE(k) \
  if constexpr (k < kUsed) store_part<kVectors, kTail>(sum##k, into.row(i + k / kVectors), k % kVectors, tail);
    FIB_EACH_SUM(FIB_STORE)
#undef FIB_STORE
  }
}

/// into row i += the loose pairs of row i.
template <int kVectors, bool kTail, class T>
void sum_loose(const Panel& panel, const T* weights, Rows<const T> other, int64_t tail, Rows<T> into) {
  const Tag<T> d;
  for (int64_t row = 0; row < panel.rows; ++row) {
    int64_t t = panel.loose_begin[static_cast<size_t>(row)];
    const int64_t end = panel.loose_begin[static_cast<size_t>(row) + 1];
    if (t == end) continue;
#define FIB_LOAD(k)          \
  auto sum##k = hn::Zero(d); \
  if constexpr (k < kVectors) sum##k = load_part<kVectors, kTail>(into.row(row), k, tail);
    FIB_EACH_SUM(FIB_LOAD)
#undef FIB_LOAD
    for (; t < end; ++t) {
      const T* HWY_RESTRICT p = other.row(panel.token[static_cast<size_t>(t)]);
      const auto w = hn::Set(d, weights[t]);
#define FIB_ADD(k) \
  if constexpr (k < kVectors) sum##k = hn::MulAdd(w, load_part<kVectors, kTail>(p, k, tail), sum##k);
      FIB_EACH_SUM(FIB_ADD)
#undef FIB_ADD
    }
#define FIB_STORE(k) \
  if constexpr (k < kVectors) store_part<kVectors, kTail>(sum##k, into.row(row), k, tail);
    FIB_EACH_SUM(FIB_STORE)
#undef FIB_STORE
  }
}
#undef FIB_EACH_SUM

template <class T>
using SumFunction = void (*)(const Panel&, const T*, Rows<const T>, int64_t, Rows<T>);

template <class T>
struct SumFunctions {
  SumFunction<T> strips, loose;
};

template <int kVectors, class T>
constexpr SumFunctions<T> sum_functions(bool tail) {
  return tail ? SumFunctions<T>{sum_strips<kVectors, true, T>, sum_loose<kVectors, true, T>}
              : SumFunctions<T>{sum_strips<kVectors, false, T>, sum_loose<kVectors, false, T>};
}

template <class T>
HWY_INLINE SumFunctions<T> choose_sum(int64_t vectors, bool tail) {
  static constexpr SumFunctions<T> kTable[kSums][2] = {
      {sum_functions<1, T>(false), sum_functions<1, T>(true)}, {sum_functions<2, T>(false), sum_functions<2, T>(true)},
      {sum_functions<3, T>(false), sum_functions<3, T>(true)}, {sum_functions<4, T>(false), sum_functions<4, T>(true)},
      {sum_functions<5, T>(false), sum_functions<5, T>(true)}, {sum_functions<6, T>(false), sum_functions<6, T>(true)},
      {sum_functions<7, T>(false), sum_functions<7, T>(true)}, {sum_functions<8, T>(false), sum_functions<8, T>(true)}};
  return kTable[vectors - 1][tail ? 1 : 0];
}

template <class T>
void clear_rows(Rows<T> rows, int64_t count, int64_t channels) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t c = 0; c < channels; ++c) rows.row(i)[c] = T(0);
  }
}

/// into row i (from 0) = all pairs of row i. Channels go in parts of at most eight vectors.
template <class T>
void sum_panel(const Panel& panel, const T* weights, const T* loose_weights, Rows<const T> other, int64_t channels,
               Rows<T> into) {
  const int64_t n = lanes<T>();
  if (panel.strips.empty()) clear_rows(into, panel.self_step == 0 ? n : panel.rows, channels);
  for (int64_t c = 0; c < channels; c += kSums * n) {
    const int64_t part = HWY_MIN(kSums * n, channels - c), tail = part % n;
    const SumFunctions<T> sum = choose_sum<T>((part + n - 1) / n, tail != 0);
    const Rows<const T> from{other.data + c, other.stride};
    const Rows<T> to{into.data + c, into.stride};
    if (!panel.strips.empty()) sum.strips(panel, weights, from, tail, to);
    if (panel.loose() > 0) sum.loose(panel, loose_weights, from, tail, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
