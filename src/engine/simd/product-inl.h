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

  /// Of vector v. It is loaded once for all rows: a compiler that cannot know that `out` is elsewhere would do so for
  /// each of them.
  HWY_INLINE FloatVec bias(int v) const {
    const float* const bias = p_.epilogue.bias;
    return bias != nullptr ? hn::LoadU(FloatTag(), bias + t_.column + v * lanes()) : hn::Zero(FloatTag());
  }

  /// Bias, activation, residual.
  HWY_INLINE FloatVec finished(int64_t r, int v, FloatVec sum, FloatVec bias) const {
    const Epilogue& epilogue = p_.epilogue;
    const int64_t column = t_.column + v * lanes();
    sum = hn::Add(sum, bias);
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

/// Sums of float32: as they are between blocks of depth, finished behind the last.
template <int R, int V>
HWY_INLINE void store_tile(const OutputTile<V>& out, const TileTarget& t, const FloatVec (&sum)[R][V]) {
  FIB_UNROLL for (int v = 0; v < V; ++v) {
    const FloatVec bias = out.bias(v);
    FIB_UNROLL for (int r = 0; r < R; ++r) {
      out.store(r, v, t.last ? out.finished(r, v, sum[r][v], bias) : sum[r][v]);
    }
  }
}

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
  store_tile<R, V>(out, t, sum);
}

/// call(first row, integral constant of rows) where `rows` is one of 1 … kMost.
template <int kMost, class Call>
HWY_INLINE void call_with_rows(int64_t row, int64_t rows, const Call& call) {
  if constexpr (kMost > 1) {
    if (rows < kMost) return call_with_rows<kMost - 1>(row, rows, call);
  }
  call(row, std::integral_constant<int, kMost>());
}

/// Full register tiles, then equal groups of four to six where there are so many: the sums of fewer rows wait for
/// themselves, so that one row takes as long as four.
template <int kFull, class Call>
HWY_INLINE void for_row_groups(int64_t row, int64_t end, const Call& call) {
  constexpr int kMost = std::min(kFull, 6), kEnough = std::min(kFull, 4);
  for (; end - row >= kFull + kEnough || end - row == kFull; row += kFull)
    call(row, std::integral_constant<int, kFull>());
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

/// Packed weights as what they are in memory: panels, each with the values of a unit of the depth of its 16 columns
/// beside those of the next unit.
struct PackedPanels {
  static constexpr int64_t kUnit = 4 * kPanelColumns;  ///< bytes

  const std::byte* first;
  int64_t depth;       ///< of the packed weights
  int64_t unit_depth;  ///< values of a column in a unit

  int64_t panel_bytes() const { return depth / unit_depth * kUnit; }
  const std::byte* at(int64_t column, int64_t k) const {
    return first + column / kPanelColumns * panel_bytes() + k / unit_depth * kUnit + column % kPanelColumns * 4;
  }
};

/// Fetches the weights of the next group of columns, a part for each row, into the second-level cache: they are read
/// from memory, and bytes are multiplied before they come. At 197 rows that is worth a twentieth of the time; float32
/// and bfloat16 take longer than memory does, and would lose a hundredth.
class NextColumns {
 public:
  NextColumns(const PackedPanels& weights, int64_t column, int64_t columns, int64_t begin, int64_t count, int64_t rows)
      : line_(weights.at(column, begin)),
        step_(weights.panel_bytes()),
        panels_(weights.unit_depth == kDepthUnit<int8_t> && column % kPanelColumns == 0
                    ? panels_of(std::max<int64_t>(0, columns))
                    : 0),
        left_((count + weights.unit_depth - 1) / weights.unit_depth),
        per_row_((left_ + rows - 1) / rows) {}

  HWY_INLINE void fetch(int64_t rows) {
    const int64_t lines = std::min(left_, rows * per_row_);
    for (int64_t panel = 0; panel < panels_; ++panel) {
      for (int64_t i = 0; i < lines; ++i) __builtin_prefetch(line_ + panel * step_ + i * PackedPanels::kUnit, 0, 2);
    }
    line_ += lines * PackedPanels::kUnit, left_ -= lines;
  }

 private:
  const std::byte* line_;
  int64_t step_, panels_, left_, per_row_;
};

/// rows(target, vectors, how many rows) for every register tile, a block of depth after the other.
template <int kFull, int kWide, class Rows>
HWY_INLINE void for_register_tiles(int64_t columns, const PackedPanels& weights, const ProductTile& tile,
                                   int64_t depth_block, const Rows& rows) {
  const int64_t n = static_cast<int64_t>(hn::Lanes(FloatTag())), depth = weights.depth;
  for_depth_blocks(depth, depth_block, [&](int64_t begin, int64_t count) {
    for_column_groups<kWide>(tile, [&](auto vectors, int64_t column) {
      if (column >= columns) return;
      const int64_t wide = decltype(vectors)::value * n;
      NextColumns next(weights, column + wide, std::min(wide, columns - column - wide), begin, count,
                       tile.row_end - tile.row);
      for_row_groups<kFull>(tile.row, tile.row_end, [&](int64_t row, auto now) {
        rows(TileTarget{row, column, columns - column, begin, count, begin == 0, begin + count == depth}, vectors, now);
        next.fetch(decltype(now)::value);
      });
    });
  });
}

inline void float_tile(const FloatProduct& p, const ProductTile& tile, int64_t depth_block) {
  const int64_t depth = p.shape.depth;
  const PackedPanels packed{reinterpret_cast<const std::byte*>(p.weights), depth, 1};
  for_register_tiles<kRows, kVectors>(
      p.shape.columns, packed, tile, depth_block, [&](const TileTarget& t, auto vectors, auto count) {
        const auto* const weights = reinterpret_cast<const float*>(packed.at(t.column, t.begin));
        float_rows<decltype(count)::value, decltype(vectors)::value>(p, t, weights, depth * kPanelColumns);
      });
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();
#endif
