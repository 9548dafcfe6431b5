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

/// The vectors of two strips, or of two pairs of them: what their rows share, the self row, is loaded once. Plain
/// members and no array, which GCC would keep on the stack.
template <class V>
struct Two {
  V x, y;
};

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
    auto sum = hn::Zero(d);
    int64_t c = 0;
    for (; c + n <= channels; c += n) sum = hn::MulAdd(hn::LoadU(d, a + c), hn::LoadU(d, b + c), sum);
    if (c < channels) sum = hn::MulAdd(load_first(a + c, channels - c), load_first(b + c, channels - c), sum);
    return sum;
  }
}

/// The same of row a with rows b and c.
template <int kVectors, class T>
HWY_INLINE Two<Vec<T>> products(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, const T* HWY_RESTRICT c,
                                int64_t channels) {
  const Tag<T> d;
  const int64_t n = lanes<T>();
  if constexpr (kVectors > 0) {
    const auto first = hn::LoadU(d, a);
    auto x = hn::Mul(first, hn::LoadU(d, b)), y = hn::Mul(first, hn::LoadU(d, c));
    for (int v = 1; v < kVectors; ++v) {
      const auto part = hn::LoadU(d, a + v * n);
      x = hn::MulAdd(part, hn::LoadU(d, b + v * n), x);
      y = hn::MulAdd(part, hn::LoadU(d, c + v * n), y);
    }
    return {x, y};
  } else {
    return {products<0, T>(a, b, channels), products<0, T>(a, c, channels)};
  }
}

#if HWY_TARGET == HWY_SCALAR
template <class T, class RowProducts>
HWY_INLINE auto sum_rows(const RowProducts& row) {
  return row(0);
}
#else
/// Halves the open sums of two vectors into one: two interleavings and one addition for two rows, where summing each
/// row by itself would need log2(lanes) shuffles and additions.
template <class V>
HWY_INLINE V merge(V a, V b) {
  const hn::DFromV<V> d;
  return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
}
template <class V>
HWY_INLINE Two<V> merge(Two<V> a, Two<V> b) {
  return {merge(a.x, b.x), merge(a.y, b.y)};
}

/// Adds the lower halves of (low, high) to their upper halves.
template <class V>
HWY_INLINE V add_halves(V low, V high) {
  const hn::DFromV<V> d;
  return hn::Add(hn::ConcatLowerLower(d, high, low), hn::ConcatUpperUpper(d, high, low));
}
template <class V>
HWY_INLINE Two<V> add_halves(Two<V> low, Two<V> high) {
  return {add_halves(low.x, high.x), add_halves(low.y, high.y)};
}

/// Blocks of the result: u's 0 + 1, v's 0 + 1, u's 2 + 3, v's 2 + 3.
template <class V>
HWY_INLINE V add_neighbours(V u, V v) {
  return hn::Add(hn::OddEvenBlocks(v, u), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(u, v)));
}
template <class V>
HWY_INLINE Two<V> add_neighbours(Two<V> u, Two<V> v) {
  return {add_neighbours(u.x, v.x), add_neighbours(u.y, v.y)};
}

/// Rows first, first + 1, … of one 128-bit block, in that order within each block; blocks still to be added.
template <class T, class RowProducts>
HWY_INLINE auto block_sums(const RowProducts& row, int first) {
  if constexpr (sizeof(T) == 8) {
    return merge(row(first), row(first + 1));
  } else {
    const auto even = merge(row(first), row(first + 2));
    return merge(even, merge(row(first + 1), row(first + 3)));
  }
}

/// Lane i of the result is the sum over all lanes of row(i).
template <class T, class RowProducts>
HWY_INLINE auto sum_rows(const RowProducts& row) {
  constexpr int kPerBlock = 16 / sizeof(T), kBlocks = static_cast<int>(hn::MaxLanes(Tag<T>())) / kPerBlock;
  const auto blocks = [&](int i) FIB_INLINE_LAMBDA { return block_sums<T>(row, i * kPerBlock); };
  if constexpr (kBlocks == 1) {
    return blocks(0);
  } else if constexpr (kBlocks == 2) {
    const auto low = blocks(0);
    return add_halves(low, blocks(1));
  } else {
    const auto first = blocks(0), low = add_neighbours(first, blocks(1));
    const auto third = blocks(2), high = add_neighbours(third, blocks(3));
    return add_halves(low, high);
  }
}
#endif

/// The other rows of a strip.
template <class T>
struct StripRows {
  const T* first;
  int64_t step;
  StripRows(Rows<const T> other, const Strip& strip) : first(other.row(strip.first)), step(other.stride * strip.step) {}
  const T* row(int64_t i) const { return first + i * step; }
};

template <class V, class T>
HWY_INLINE T* store_scaled(V sums, T scale, T* out) {
  const Tag<T> d;
  hn::Store(hn::Mul(sums, hn::Set(d, scale)), d, out);
  return out + lanes<T>();
}
template <class V, class T>
HWY_INLINE T* store_scaled(Two<V> sums, T scale, T* out) {
  return store_scaled(sums.y, scale, store_scaled(sums.x, scale, out));
}

/// Strips whose dot products are computed side by side: two take 6 loads per pair instead of 8, four take 5 but need
/// the 32 registers of AVX-512.
inline constexpr size_t kStripsAtOnce = HWY_MAX_BYTES == 64 ? 4 : 2;

/// out [strips, lanes] = scale · self row · other row.
template <int kVectors, class T>
void dot_strips(const Panel& panel, Rows<const T> self, Rows<const T> other, int64_t channels, T scale, T* out) {
  const int64_t a_step = self.stride * panel.self_step;
  const T* a = self.row(panel.self);
  const std::vector<Strip>& strips = panel.strips;
  size_t s = 0;
  if constexpr (kStripsAtOnce == 4) {
    for (; s + 4 <= strips.size(); s += 4) {
      const StripRows<T> b(other, strips[s]), c(other, strips[s + 1]), d(other, strips[s + 2]), e(other, strips[s + 3]);
      const auto row = [&](int i) FIB_INLINE_LAMBDA {
        return Two<Two<Vec<T>>>{products<kVectors, T>(a + i * a_step, b.row(i), c.row(i), channels),
                                products<kVectors, T>(a + i * a_step, d.row(i), e.row(i), channels)};
      };
      out = store_scaled(sum_rows<T>(row), scale, out);
      panel.next.fetch(s, s + 4, strips.size());
    }
  }
  for (; s + 2 <= strips.size(); s += 2) {
    const StripRows<T> b(other, strips[s]), c(other, strips[s + 1]);
    const auto row = [&](int i) FIB_INLINE_LAMBDA {
      return products<kVectors, T>(a + i * a_step, b.row(i), c.row(i), channels);
    };
    out = store_scaled(sum_rows<T>(row), scale, out);
    panel.next.fetch(s, s + 2, strips.size());
  }
  if (s < strips.size()) {
    const StripRows<T> b(other, strips[s]);
    const auto row = [&](int i) FIB_INLINE_LAMBDA { return products<kVectors, T>(a + i * a_step, b.row(i), channels); };
    store_scaled(sum_rows<T>(row), scale, out);
    panel.next.fetch(s, s + 1, strips.size());
  }
}

/// out [loose, padded to whole vectors], the padding repeating the last pair.
template <class T>
void dot_loose(const Panel& panel, Rows<const T> self, Rows<const T> other, int64_t channels, T scale, T* out) {
  const Tag<T> d;
  const int64_t n = lanes<T>(), count = panel.loose(), a_step = self.stride * panel.self_step;
  const T* a = self.row(panel.self);
  for (int64_t t = 0; t < count; t += n) {
    const auto row = [&](int i) FIB_INLINE_LAMBDA {
      const size_t at = static_cast<size_t>(HWY_MIN(t + i, count - 1));
      return products<0, T>(a + panel.lane[at] * a_step, other.row(panel.token[at]), channels);
    };
    hn::Store(hn::Mul(sum_rows<T>(row), hn::Set(d, scale)), d, out + t);
  }
}

template <class T>
using DotFunction = void (*)(const Panel&, Rows<const T>, Rows<const T>, int64_t, T, T*);

/// The version for rows of this length: the usual head dimensions are whole vectors and unrolled, the general one takes
/// the others.
template <class T>
HWY_INLINE DotFunction<T> choose_dot(int64_t channels) {
  switch (channels % lanes<T>() == 0 ? channels / lanes<T>() : 0) {
    case 1:
      return dot_strips<1, T>;
    case 2:
      return dot_strips<2, T>;
    case 3:
      return dot_strips<3, T>;
    case 4:
      return dot_strips<4, T>;
    case 6:
      return dot_strips<6, T>;
    case 8:
      return dot_strips<8, T>;
    default:
      return dot_strips<0, T>;
  }
}

/// Scores of all pairs of a panel: strips [strips, lanes], loose [loose, padded to whole vectors].
template <class T>
void dot_panel(const Panel& panel, Rows<const T> self, Rows<const T> other, int64_t channels, T scale, T* strips,
               T* loose) {
  choose_dot<T>(channels)(panel, self, other, channels, scale, strips);
  if (panel.loose() > 0) dot_loose(panel, self, other, channels, scale, loose);
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
