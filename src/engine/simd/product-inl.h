// SPDX-License-Identifier: Apache-2.0
// Products in register tiles, R rows times V vectors, and those of float32. Included once per target.
#if defined(FIB_ENGINE_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_ENGINE_PRODUCT_INL_H_
#undef FIB_ENGINE_PRODUCT_INL_H_
#else
#define FIB_ENGINE_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "engine/simd/activations-inl.h"
#include "engine/simd_table.h"
#include "kernels/simd/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {

// Sums, vectors of weights and one of x fill the registers: 16 of 256 bits (6 × 2), 32 of 512 (12 × 2), 32 of NEON
// (6 × 4). A tile is a whole number of panels wide, or a part of one.
#if HWY_TARGET <= HWY_AVX3
inline constexpr int kRows = 12, kVectors = 2;
#elif HWY_ARCH_ARM
inline constexpr int kRows = 6, kVectors = 4;
#else
inline constexpr int kRows = 6, kVectors = 2;
#endif

/// Where the sums of a register tile begin, how many of its columns exist, and which part of the depth they are over.
struct TileTarget {
  int64_t row, column, columns;
  int64_t begin, depth;  ///< of this block
  bool first, last;      ///< of the blocks of depth
};

/// The sums of a register tile in the output, V vectors wide: what waits there between blocks of depth, and the end.
template <int V>
class OutputTile {
 public:
  HWY_INLINE OutputTile(const Product& p, const TileTarget& t)
      : p_(p), t_(t), out_(p.out + t.row * p.out_stride + t.column), whole_(t.columns >= V * lanes()) {}

  HWY_INLINE FloatVec load(int64_t r, int v) const { return load(v, out_ + r * p_.out_stride + v * lanes()); }

  HWY_INLINE void store(int64_t r, int v, FloatVec sum) const {
    float* const at = out_ + r * p_.out_stride + v * lanes();
    if (whole_) return hn::StoreU(sum, FloatTag(), at);
    store_columns(sum, at, columns_of(v));
  }

  /// Bias, activation, residual.
  HWY_INLINE FloatVec finished(int64_t r, int v, FloatVec sum) const {
    const Epilogue& epilogue = p_.epilogue;
    const int64_t column = t_.column + v * lanes();
    if (epilogue.bias != nullptr) sum = hn::Add(sum, hn::LoadU(FloatTag(), epilogue.bias + column));
    if (epilogue.activation == Activation::gelu) sum = gelu(sum);
    if (epilogue.activation == Activation::relu) sum = hn::Max(sum, hn::Zero(FloatTag()));
    if (epilogue.residual == nullptr) return sum;
    return hn::Add(sum, load(v, epilogue.residual + (t_.row + r) * epilogue.residual_stride + column));
  }

 private:
  static HWY_INLINE int64_t lanes() { return static_cast<int64_t>(hn::Lanes(FloatTag())); }
  HWY_INLINE int64_t columns_of(int v) const { return std::min(lanes(), t_.columns - v * lanes()); }
  HWY_INLINE FloatVec load(int v, const float* at) const {
    return whole_ ? hn::LoadU(FloatTag(), at) : load_columns(at, columns_of(v));
  }

  const Product& p_;
  const TileTarget& t_;
  float* out_;
  bool whole_;
};

/// Where vector v of a tile lies in packed float32, from the tile's first.
HWY_INLINE int64_t panel_offset(int v, int64_t panel_step) {
  const int64_t n = static_cast<int64_t>(hn::Lanes(FloatTag()));
  return v * n / kPanelColumns * panel_step + v * n % kPanelColumns;
}

template <int R, int V>
HWY_NOINLINE void float_rows(const FloatProduct& p, const TileTarget& t, const float* weights, int64_t panel_step) {
  const FloatTag d;
  const OutputTile<V> out(p, t);
  FloatVec sum[R][V];
  FIB_UNROLL for (int r = 0; r < R; ++r) {
    FIB_UNROLL for (int v = 0; v < V; ++v) sum[r][v] = t.first ? hn::Zero(d) : out.load(r, v);
  }
  kernels::HWY_NAMESPACE::add_products<R, V, float>(
      {p.x + t.row * p.x_stride + t.begin, p.x_stride, 1, weights, kPanelColumns, t.depth},
      [panel_step](int v) FIB_INLINE_LAMBDA { return panel_offset(v, panel_step); }, sum);
  FIB_UNROLL for (int r = 0; r < R; ++r) {
    FIB_UNROLL for (int v = 0; v < V; ++v) out.store(r, v, t.last ? out.finished(r, v, sum[r][v]) : sum[r][v]);
  }
}

/// call(first row, integral constant of rows) where `rows` is one of 1 … kMost.
template <int kMost, class Call>
HWY_INLINE void call_with_rows(int64_t row, int64_t rows, const Call& call) {
  if constexpr (kMost > 1) {
    if (rows < kMost) return call_with_rows<kMost - 1>(row, rows, call);
  }
  call(row, std::integral_constant<int, kMost>());
}

/// Full register tiles, then equal groups of at most six.
template <int kFull, class Call>
HWY_INLINE void for_row_groups(int64_t row, int64_t end, const Call& call) {
  constexpr int kMost = std::min(kFull, 6);
  for (; end - row >= kFull; row += kFull) call(row, std::integral_constant<int, kFull>());
  kernels::HWY_NAMESPACE::for_equal_groups(
      row, end, kMost, [&](int64_t first, int64_t count) { call_with_rows<kMost>(first, count, call); });
}

/// Columns of panels [panel, panel_end), kWide vectors of n columns at a time where they fit; visit(integral constant
/// of vectors, column).
template <int kWide, class Visit>
HWY_INLINE void for_column_groups(const ProductTile& tile, const Visit& visit) {
  const int64_t n = static_cast<int64_t>(hn::Lanes(FloatTag()));
  int64_t column = tile.panel * kPanelColumns;
  const int64_t end = tile.panel_end * kPanelColumns;
  for (; column + kWide * n <= end; column += kWide * n) visit(std::integral_constant<int, kWide>(), column);
  if constexpr (kWide * hn::MaxLanes(FloatTag()) > kPanelColumns) {
    for (; column < end; column += n) visit(std::integral_constant<int, 1>(), column);
  }
}

/// visit(begin, depth): the depth in blocks.
template <class Visit>
HWY_INLINE void for_depth_blocks(int64_t depth, int64_t block, const Visit& visit) {
  for (int64_t begin = 0; begin < depth; begin += block) visit(begin, std::min(depth - begin, block));
}

/// rows(target, vectors, how many rows) for every register tile, a block of depth after the other. `depth` is that of
/// the packed weights.
template <int kFull, int kWide, class Rows>
HWY_INLINE void for_register_tiles(int64_t columns, int64_t depth, const ProductTile& tile, int64_t depth_block,
                                   const Rows& rows) {
  for_depth_blocks(depth, depth_block, [&](int64_t begin, int64_t count) {
    for_column_groups<kWide>(tile, [&](auto vectors, int64_t column) {
      if (column >= columns) return;
      for_row_groups<kFull>(tile.row, tile.row_end, [&](int64_t row, auto now) {
        rows(TileTarget{row, column, columns - column, begin, count, begin == 0, begin + count == depth}, vectors, now);
      });
    });
  });
}

inline void float_tile(const FloatProduct& p, const ProductTile& tile, int64_t depth_block) {
  const int64_t depth = p.shape.depth, panel_step = depth * kPanelColumns;
  for_register_tiles<kRows, kVectors>(
      p.shape.columns, depth, tile, depth_block, [&](const TileTarget& t, auto vectors, auto count) {
        const float* weights =
            p.weights + t.column / kPanelColumns * panel_step + t.begin * kPanelColumns + t.column % kPanelColumns;
        float_rows<decltype(count)::value, decltype(vectors)::value>(p, t, weights, panel_step);
      });
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();
#endif
