// SPDX-License-Identifier: Apache-2.0
// The products of dense attention and what brings their factors into order. Included once per target.
//
// Lanes are queries. A *panel* is two vectors of queries, and its scores with a block of keys are a *strip* [keys, W],
// W = 2 · lanes. Softmax is then the same work in every lane, keys and values are read as they lie, and only the
// queries' side is transposed. All products are one kernel, six rows times two vectors:
//   scores      strip [j, W]  = Σ_c k [j, c] · queries [c, W]
//   output      out [c, W]   += Σ_j v [j, c] · strip [j, W]            (dq alike, with k)
//   gradients   dk [j, c]    += Σ_i strip [j, i] · q [i, c]            (dv alike, with grad_out)
#if defined(FIB_KERNELS_DENSE_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_DENSE_PRODUCT_INL_H_
#undef FIB_KERNELS_DENSE_PRODUCT_INL_H_
#else
#define FIB_KERNELS_DENSE_PRODUCT_INL_H_
#endif

#include <array>
#include <utility>

#include "kernels/call.h"
#include "kernels/simd/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

template <class T>
inline constexpr int64_t kPanelWidth = 2 * static_cast<int64_t>(hn::MaxLanes(Tag<T>()));

/// Row m of c gets Σ_k a [m · a_row + k · a_step] · b [k · b_row …], one to three vectors wide.
template <class T>
struct Product {
  const T* a;
  int64_t a_row, a_step;
  const T* b;
  int64_t b_row, depth;
  T* c;
  int64_t c_row;
};

enum class Into {
  replace,
  add,
  add_to_scaled,  ///< what is there is first multiplied, lane by lane
  add_to_row      ///< to one given row instead of what is there
};

/// Twelve sums, two vectors of b and one of a fill the 16 registers of AVX2, and eight loads feed twelve multiply-adds;
/// four rows of three vectors need seven. With the 32 registers of AVX-512, 12 × 2 in dense attention and 8 × 3 in
/// linear layers were up to 5 % slower on Zen 4.
template <int kVectors>
inline constexpr int kProductRows = kVectors == 3 ? 4 : 6;

template <int kRows, int kVectors, Into kInto, class T>
HWY_NOINLINE void multiply_rows(const Product<T>& p, const T* HWY_RESTRICT row) {
  const Tag<T> d;
  const int64_t n = lanes<T>(), c_row = p.c_row;
  T* HWY_RESTRICT c = p.c;
  Vec<T> sum[kRows][kVectors];
  FIB_UNROLL for (int v = 0; v < kVectors; ++v) {
    FIB_UNROLL for (int r = 0; r < kRows; ++r) {
      if constexpr (kInto == Into::replace) sum[r][v] = hn::Zero(d);
      if constexpr (kInto == Into::add_to_row) sum[r][v] = hn::LoadU(d, row + v * n);
      if constexpr (kInto == Into::add) sum[r][v] = hn::LoadU(d, c + r * c_row + v * n);
      if constexpr (kInto == Into::add_to_scaled) {
        sum[r][v] = hn::Mul(hn::LoadU(d, c + r * c_row + v * n), hn::Load(d, row + v * n));
      }
    }
  }
  add_products<kRows, kVectors, T>(
      {p.a, p.a_row, p.a_step, p.b, p.b_row, p.depth}, [n](int v) FIB_INLINE_LAMBDA { return v * n; }, sum);
  FIB_UNROLL for (int r = 0; r < kRows; ++r) {
    FIB_UNROLL for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], d, c + r * c_row + v * n);
  }
}

template <class T>
using ProductFunction = void (*)(const Product<T>&, const T*);

/// The functions of one row, of two, …
template <int kVectors, Into kInto, class T, int... kRow>
constexpr std::array<ProductFunction<T>, sizeof...(kRow)> product_table(std::integer_sequence<int, kRow...>) {
  return {multiply_rows<kRow + 1, kVectors, kInto, T>...};
}

/// At most kProductRows rows.
template <int kVectors, Into kInto, class T>
void multiply_group(const Product<T>& p, int64_t rows, const T* row = nullptr) {
  static constexpr auto kOfRows =
      product_table<kVectors, kInto, T>(std::make_integer_sequence<int, kProductRows<kVectors>>());
  kOfRows[static_cast<size_t>(rows - 1)](p, row);
}

/// visit(first, count) for all rows.
template <int kVectors, class Visit>
void for_row_groups(int64_t rows, const Visit& visit) {
  for_equal_groups(0, rows, kProductRows<kVectors>, visit);
}

template <int kVectors, Into kInto, class T>
void multiply(Product<T> p, int64_t rows, const T* row = nullptr) {
  for_row_groups<kVectors>(rows, [&](int64_t, int64_t count) {
    multiply_group<kVectors, kInto, T>(p, count, row);
    p.a += count * p.a_row;
    p.c += count * p.c_row;
  });
}

#if HWY_TARGET != HWY_SCALAR
/// A square of 16 bytes by 16 bytes.
template <class T>
HWY_INLINE void transpose_square(const T* from, int64_t from_stride, T factor, T* into, int64_t into_stride) {
  const hn::FixedTag<T, 16 / sizeof(T)> d;
  const auto f = hn::Set(d, factor);
  const auto load = [&](int64_t i) HWY_ATTR { return hn::Mul(hn::LoadU(d, from + i * from_stride), f); };
  const auto store = [&](int64_t i, auto v) HWY_ATTR { hn::StoreU(v, d, into + i * into_stride); };
  const auto a = load(0), b = load(1);
  if constexpr (sizeof(T) == 8) {
    store(0, hn::InterleaveLower(d, a, b));
    store(1, hn::InterleaveUpper(d, a, b));
  } else {
    const auto c = load(2), e = load(3);
    const auto ab = hn::InterleaveLower(d, a, b), ce = hn::InterleaveLower(d, c, e);
    store(0, hn::ConcatLowerLower(d, ce, ab));
    store(1, hn::ConcatUpperUpper(d, ce, ab));
    const auto ab_high = hn::InterleaveUpper(d, a, b), ce_high = hn::InterleaveUpper(d, c, e);
    store(2, hn::ConcatLowerLower(d, ce_high, ab_high));
    store(3, hn::ConcatUpperUpper(d, ce_high, ab_high));
  }
}
#endif

/// into [columns, rows] = factor · from [rows, columns], transposed.
template <class T>
void transpose(Rows<const T> from, int64_t rows, int64_t columns, T factor, Rows<T> into) {
  int64_t full_rows = 0, full_columns = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t kSide = 16 / sizeof(T);
  full_rows = rows / kSide * kSide, full_columns = columns / kSide * kSide;
  for (int64_t i = 0; i < full_rows; i += kSide) {
    for (int64_t c = 0; c < full_columns; c += kSide) {
      transpose_square(from.row(i) + c, from.stride, factor, into.row(c) + i, into.stride);
    }
  }
#endif
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t c = i < full_rows ? full_columns : 0; c < columns; ++c) into.row(c)[i] = factor * from.row(i)[c];
  }
}

/// The rows of up to W tokens as a panel [channels, W], zeros in lanes without a token.
template <class T>
void pack_panel(Rows<const T> from, int64_t count, int64_t channels, T factor, T* into) {
  constexpr int64_t W = kPanelWidth<T>;
  transpose<T>(from, count, channels, factor, {into, W});
  for (int64_t c = 0; count < W && c < channels; ++c) std::fill(into + c * W + count, into + (c + 1) * W, T(0));
}

/// Rows [count, padded] with zeros behind the channels, for the vectors of the gradients of keys.
template <class T>
void pad_rows(Rows<const T> from, int64_t count, int64_t channels, int64_t padded, T* into) {
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(from.row(i), channels, into + i * padded);
    std::fill(into + i * padded + channels, into + (i + 1) * padded, T(0));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
