// SPDX-License-Identifier: Apache-2.0
// The register tile of every product of float vectors, R rows times V vectors of sums, and how rows are cut into tiles:
// for attention and linear layers (dense_product-inl.h) and for compiled models (engine/simd/product-inl.h). Included
// once per target.
#if defined(FIB_KERNELS_REGISTER_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_REGISTER_TILE_INL_H_
#undef FIB_KERNELS_REGISTER_TILE_INL_H_
#else
#define FIB_KERNELS_REGISTER_TILE_INL_H_
#endif

#include "kernels/simd/vectors-inl.h"

/// Loops over a register tile: unrolled, every sum stays in its register.
#undef FIB_UNROLL
#define FIB_UNROLL _Pragma("GCC unroll 16")

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// The factors of a tile: row r has values a [r · a_row + k · a_step], and row k of b begins at b + k · b_step.
template <class T>
struct TileFactors {
  const T* a;
  int64_t a_row, a_step;
  const T* b;
  int64_t b_step, depth;
};

/// sum [r][v] += Σ_k a [r, k] · b [k, v], where vector v of a row of b begins at place(v).
template <int R, int V, class T, class Place>
HWY_INLINE void add_products(const TileFactors<T>& f, const Place& place, Vec<T> (&sum)[R][V]) {
  const Tag<T> d;
  const int64_t a_row = f.a_row, a_step = f.a_step, b_step = f.b_step;
  const T *HWY_RESTRICT a = f.a, *HWY_RESTRICT b = f.b;
  for (int64_t k = f.depth; k > 0; --k) {
    Vec<T> factor[V];
    FIB_UNROLL for (int v = 0; v < V; ++v) factor[v] = hn::LoadU(d, b + place(v));
    FIB_UNROLL for (int r = 0; r < R; ++r) {
      const auto value = hn::Set(d, a[r * a_row]);
      FIB_UNROLL for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(value, factor[v], sum[r][v]);
    }
    a += a_step;
    b += b_step;
  }
}

/// visit(first, count): rows [begin, end) in groups of at most `most`, as equal as can be, for a group of one or two
/// would wait for its own sums.
template <class Visit>
HWY_INLINE void for_equal_groups(int64_t begin, int64_t end, int64_t most, const Visit& visit) {
  for (int64_t groups = (end - begin + most - 1) / most; groups > 0; --groups) {
    const int64_t now = (end - begin + groups - 1) / groups;
    visit(begin, now);
    begin += now;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
