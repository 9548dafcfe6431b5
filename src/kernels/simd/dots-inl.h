// SPDX-License-Identifier: Apache-2.0
// Dot products of a block: one vector of results per strip, lane i for row i. Included once per target.
#if defined(FIB_KERNELS_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_DOTS_INL_H_
#undef FIB_KERNELS_DOTS_INL_H_
#else
#define FIB_KERNELS_DOTS_INL_H_
#endif

#include "kernels/call.h"
#include "kernels/panel.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// Products of two rows, summed per lane but not yet across lanes. kVectors > 0 fixes the row's length in vectors;
/// 0 takes any length.
template <int kVectors, class T>
HWY_INLINE Vec<T> products(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, int64_t channels) {
  const Tag<T> d;
  const int64_t n = lanes<T>();
  if constexpr (kVectors > 0) {
    auto sum = hn::Mul(hn::LoadU(d, a), hn::LoadU(d, b));
    for (int v = 1; v < kVectors; ++v) sum = hn::MulAdd(hn::LoadU(d, a + v * n), hn::LoadU(d, b + v * n), sum);
    return sum;
  } else {
    auto sum = hn::Zero(d), more = hn::Zero(d);
    int64_t c = 0;
    for (; c + 2 * n <= channels; c += 2 * n) {
      sum = hn::MulAdd(hn::LoadU(d, a + c), hn::LoadU(d, b + c), sum);
      more = hn::MulAdd(hn::LoadU(d, a + c + n), hn::LoadU(d, b + c + n), more);
    }
    if (c + n <= channels) {
      sum = hn::MulAdd(hn::LoadU(d, a + c), hn::LoadU(d, b + c), sum);
      c += n;
    }
    if (c < channels) more = hn::MulAdd(load_first(a + c, channels - c), load_first(b + c, channels - c), more);
    return hn::Add(sum, more);
  }
}

#if HWY_TARGET == HWY_SCALAR
template <class T, class RowProducts>
HWY_INLINE Vec<T> sum_rows(const RowProducts& row) {
  return row(0);
}
#elif !HWY_HAVE_SCALABLE
/// Halves the open sums of two vectors into one: two interleavings and one addition for two rows, where summing each
/// row by itself would need log2(lanes) shuffles and additions.
template <class T>
HWY_INLINE Vec<T> merge(Vec<T> a, Vec<T> b) {
  const Tag<T> d;
  return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
}

/// Rows first, first + 1, … of one 128-bit block, in that order within each block; blocks still to be added.
template <class T, class RowProducts>
HWY_INLINE Vec<T> block_sums(const RowProducts& row, int first) {
  if constexpr (sizeof(T) == 8) {
    return merge<T>(row(first), row(first + 1));
  } else {
    const auto even = merge<T>(row(first), row(first + 2));
    return merge<T>(even, merge<T>(row(first + 1), row(first + 3)));
  }
}

/// Lane i of the result is the sum over all lanes of row(i).
template <class T, class RowProducts>
HWY_INLINE Vec<T> sum_rows(const RowProducts& row) {
  const Tag<T> d;
  constexpr int kPerBlock = 16 / sizeof(T), kBlocks = static_cast<int>(hn::MaxLanes(d)) / kPerBlock;
  if constexpr (kBlocks == 1) {
    return block_sums<T>(row, 0);
  } else if constexpr (kBlocks == 2) {
    const auto low = block_sums<T>(row, 0), high = block_sums<T>(row, kPerBlock);
    return hn::Add(hn::ConcatLowerLower(d, high, low), hn::ConcatUpperUpper(d, high, low));
  } else {
    const auto pair = [&](int first) HWY_ATTR {  // blocks: first's 0+1, second's 0+1, first's 2+3, second's 2+3
      const auto u = block_sums<T>(row, first), v = block_sums<T>(row, first + kPerBlock);
      return hn::Add(hn::OddEvenBlocks(v, u), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(u, v)));
    };
    const auto low = pair(0), high = pair(2 * kPerBlock);
    return hn::Add(hn::ConcatLowerLower(d, high, low), hn::ConcatUpperUpper(d, high, low));
  }
}
#else
template <class T, class RowProducts>
HWY_INLINE Vec<T> sum_rows(const RowProducts& row) {
  const Tag<T> d;
  T sums[hn::MaxLanes(d)];
  for (int i = 0; i < static_cast<int>(hn::Lanes(d)); ++i) sums[i] = hn::GetLane(hn::SumOfLanes(d, row(i)));
  return hn::LoadU(d, sums);
}
#endif

/// out [strips, lanes] = scale · self row · other row.
template <int kVectors, class T>
void dot_strips(const Panel& panel, Rows<const T> self, Rows<const T> other, int64_t channels, T scale, T* out) {
  const Tag<T> d;
  const T* a = self.row(panel.self);
  const int64_t a_step = self.stride * panel.self_step;
  for (const Strip& strip : panel.strips) {
    const T* b = other.row(strip.first);
    const int64_t b_step = other.stride * strip.step;
    const auto row = [&](int i) HWY_ATTR { return products<kVectors, T>(a + i * a_step, b + i * b_step, channels); };
    hn::Store(hn::Mul(sum_rows<T>(row), hn::Set(d, scale)), d, out);
    out += lanes<T>();
  }
}

/// out [loose, padded to whole vectors], the padding repeating the last pair.
template <int kVectors, class T>
void dot_loose(const Panel& panel, Rows<const T> self, Rows<const T> other, int64_t channels, T scale, T* out) {
  const Tag<T> d;
  const int64_t n = lanes<T>(), count = panel.loose(), a_step = self.stride * panel.self_step;
  const T* a = self.row(panel.self);
  for (int64_t t = 0; t < count; t += n) {
    const auto row = [&](int i) HWY_ATTR {
      const size_t at = static_cast<size_t>(HWY_MIN(t + i, count - 1));
      return products<kVectors, T>(a + panel.lane[at] * a_step, other.row(panel.token[at]), channels);
    };
    hn::Store(hn::Mul(sum_rows<T>(row), hn::Set(d, scale)), d, out + t);
  }
}

template <class T>
using DotFunction = void (*)(const Panel&, Rows<const T>, Rows<const T>, int64_t, T, T*);

/// Calls the version of this row length: fixed lengths up to 8 vectors (d = 128 in AVX-512 floats), else the general.
template <class T>
void dot_panel(const Panel& panel, Rows<const T> self, Rows<const T> other, int64_t channels, T scale, T* strips,
               T* loose) {
  static constexpr DotFunction<T> kStrips[] = {dot_strips<0, T>, dot_strips<1, T>, dot_strips<2, T>,
                                               dot_strips<3, T>, dot_strips<4, T>, dot_strips<5, T>,
                                               dot_strips<6, T>, dot_strips<7, T>, dot_strips<8, T>};
  static constexpr DotFunction<T> kLoose[] = {dot_loose<0, T>, dot_loose<1, T>, dot_loose<2, T>,
                                              dot_loose<3, T>, dot_loose<4, T>, dot_loose<5, T>,
                                              dot_loose<6, T>, dot_loose<7, T>, dot_loose<8, T>};
  const int64_t vectors = channels / lanes<T>();
  const bool fixed = channels % lanes<T>() == 0 && vectors <= 8;
  kStrips[fixed ? vectors : 0](panel, self, other, channels, scale, strips);
  if (panel.loose() > 0) kLoose[fixed ? vectors : 0](panel, self, other, channels, scale, loose);
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
