// SPDX-License-Identifier: Apache-2.0
// Products in register tiles, R rows times V vectors. Included once per target.
#if defined(FIB_ENGINE_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_ENGINE_PRODUCT_INL_H_
#undef FIB_ENGINE_PRODUCT_INL_H_
#else
#define FIB_ENGINE_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/simd/activations-inl.h"
#include "engine/simd_table.h"

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {

// Sums, vectors of weights and one of x fill the registers: 16 of 256 bits (6 × 2), 32 of 512 (12 × 2), 32 of NEON
// (6 × 4). Integers need one more for each product before it is added: 5 × 2 of 256 bits. A tile is a whole number of
// panels wide, or a part of one.
#if HWY_TARGET <= HWY_AVX3
inline constexpr int kRows = 12, kInt8Rows = 12, kVectors = 2;
#elif HWY_ARCH_ARM
inline constexpr int kRows = 6, kInt8Rows = 6, kVectors = 4;
#else
inline constexpr int kRows = 6, kInt8Rows = 5, kVectors = 2;
#endif

/// Where the sums of a register tile begin, how many of its columns exist, and which part of the depth they are over.
struct TileTarget {
  int64_t row, column, columns;
  int64_t begin, depth;  ///< of this block
  bool first, last;      ///< of the blocks of depth
};

using FloatVec = hn::Vec<FloatTag>;

/// The sums of a register tile in the output, V vectors wide: what waits there between blocks of depth, and the end.
template <int V>
class OutputTile {
 public:
  HWY_INLINE OutputTile(const Product& p, const TileTarget& t)
      : p_(p), t_(t), out_(p.out + t.row * p.out_stride + t.column), whole_(t.columns >= V * lanes()) {}

  HWY_INLINE FloatVec load(int r, int v) const { return load(v, out_ + r * p_.out_stride + v * lanes()); }

  HWY_INLINE void store(int r, int v, FloatVec sum) const {
    float* const at = out_ + r * p_.out_stride + v * lanes();
    if (whole_) return hn::StoreU(sum, FloatTag(), at);
    store_columns(sum, at, columns_of(v));
  }

  /// Bias, activation, residual.
  HWY_INLINE FloatVec finished(int r, int v, FloatVec sum) const {
    const Tail& tail = p_.tail;
    const int64_t column = t_.column + v * lanes();
    if (tail.bias != nullptr) sum = hn::Add(sum, hn::LoadU(FloatTag(), tail.bias + column));
    if (tail.activation == Activation::gelu) sum = gelu(sum);
    if (tail.activation == Activation::relu) sum = hn::Max(sum, hn::Zero(FloatTag()));
    if (tail.residual == nullptr) return sum;
    return hn::Add(sum, load(v, tail.residual + (t_.row + r) * tail.residual_stride + column));
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

/// Where vector v of a tile lies in the packed weights, from the tile's first; pairs are `values` 2.
HWY_INLINE int64_t panel_offset(int v, int64_t panel_step, int64_t values = 1) {
  const int64_t n = static_cast<int64_t>(hn::Lanes(FloatTag()));
  return v * n / kPanelColumns * panel_step + v * n % kPanelColumns * values;
}

HWY_INLINE FloatVec load_weights(const float* at) { return hn::LoadU(FloatTag(), at); }
HWY_INLINE FloatVec load_weights(const Bfloat16* at) {
  const hn::RebindToUnsigned<FloatTag> wide;
  const hn::Rebind<Bfloat16, FloatTag> narrow;
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, at))));
}

/// Loops over a register tile: unrolled, every sum stays in its register.
#define FIB_UNROLL _Pragma("GCC unroll 16")

template <int R, int V, class Weight>
HWY_NOINLINE void float_rows(const FloatSums<Weight>& p, const TileTarget& t, const Weight* HWY_RESTRICT weights,
                             int64_t panel_step) {
  const FloatTag d;
  const OutputTile<V> out(p, t);
  FloatVec sum[R][V];
  FIB_UNROLL for (int r = 0; r < R; ++r) {
    FIB_UNROLL for (int v = 0; v < V; ++v) sum[r][v] = t.first ? hn::Zero(d) : out.load(r, v);
  }
  const float* HWY_RESTRICT x = p.x + t.row * p.x_stride + t.begin;
  const int64_t step = p.x_stride;
  for (int64_t k = 0; k < t.depth; ++k) {
    FloatVec w[V];
    FIB_UNROLL for (int v = 0; v < V; ++v) w[v] = load_weights(weights + panel_offset(v, panel_step));
    FIB_UNROLL for (int r = 0; r < R; ++r) {
      const FloatVec value = hn::Set(d, x[r * step + k]);
      FIB_UNROLL for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(value, w[v], sum[r][v]);
    }
    weights += kPanelColumns;
  }
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

/// Full register tiles, then groups of at most six, as equal as can be, for a group of one or two waits for its own
/// sums.
template <int kFull, class Call>
HWY_INLINE void for_row_groups(int64_t row, int64_t end, const Call& call) {
  constexpr int kMost = std::min(kFull, 6);
  for (; end - row >= kFull; row += kFull) call(row, std::integral_constant<int, kFull>());
  for (int64_t groups = (end - row + kMost - 1) / kMost; groups > 0; --groups) {
    const int64_t now = (end - row + groups - 1) / groups;
    call_with_rows<kMost>(row, now, call);
    row += now;
  }
}

/// Columns of panels [panel, panel_end), as wide as the registers allow; visit(integral constant of vectors, column).
template <class Visit>
HWY_INLINE void for_column_groups(const ProductTile& tile, const Visit& visit) {
  const int64_t n = static_cast<int64_t>(hn::Lanes(FloatTag()));
  int64_t column = tile.panel * kPanelColumns;
  const int64_t end = tile.panel_end * kPanelColumns;
  for (; column + kVectors * n <= end; column += kVectors * n) visit(std::integral_constant<int, kVectors>(), column);
  if constexpr (kVectors * hn::MaxLanes(FloatTag()) > kPanelColumns) {
    for (; column < end; column += n) visit(std::integral_constant<int, 1>(), column);
  }
}

/// rows(target, vectors, how many rows) for every register tile, a block of depth after the other. `depth` is that of
/// the packed weights.
template <int kFull, class Rows>
HWY_INLINE void for_register_tiles(int64_t columns, int64_t depth, const ProductTile& tile, int64_t depth_block,
                                   const Rows& rows) {
  for (int64_t begin = 0; begin < depth; begin += depth_block) {
    const int64_t end = std::min(depth, begin + depth_block);
    for_column_groups(tile, [&](auto vectors, int64_t column) {
      if (column >= columns) return;
      for_row_groups<kFull>(tile.row, tile.row_end, [&](int64_t row, auto count) {
        rows(TileTarget{row, column, columns - column, begin, end - begin, begin == 0, end == depth}, vectors, count);
      });
    });
  }
}

template <class Weight>
inline void float_tile(const FloatSums<Weight>& p, const ProductTile& tile, int64_t depth_block) {
  const int64_t depth = p.shape.depth, panel_step = depth * kPanelColumns;
  for_register_tiles<kRows>(
      p.shape.columns, depth, tile, depth_block, [&](const TileTarget& t, auto vectors, auto count) {
        const Weight* weights =
            p.weights + t.column / kPanelColumns * panel_step + t.begin * kPanelColumns + t.column % kPanelColumns;
        float_rows<decltype(count)::value, decltype(vectors)::value>(p, t, weights, panel_step);
      });
}

// ---- int8
// --------------------------------------------------------------------------------------------------------------

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
using IntTag = hn::ScalableTag<int32_t>;
using IntVec = hn::Vec<IntTag>;
using ShortTag = hn::Repartition<int16_t, IntTag>;
using ShortVec = hn::Vec<ShortTag>;

/// Adds to lane i the products of pair i.
HWY_INLINE IntVec add_pairs(IntVec sum, ShortVec a, ShortVec b) {
#if HWY_TARGET == HWY_AVX3_DL
  return IntVec{_mm512_dpwssd_epi32(sum.raw, a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  // Left to itself GCC 12 adds into the register of the product and then copies it back, which costs a third of the
  // speed.
  const __m256i product = _mm256_madd_epi16(a.raw, b.raw);
  asm("vpaddd %1, %0, %0" : "+x"(sum.raw) : "x"(product));
  return sum;
#else
  IntVec unused = hn::Zero(IntTag());
  return hn::ReorderWidenMulAccumulate(IntTag(), a, b, sum, unused);
#endif
}

template <int R, int V>
HWY_NOINLINE void int8_rows(const Int8Product& p, const TileTarget& t, const int8_t* HWY_RESTRICT weights,
                            int64_t panel_step) {
  const FloatTag d;
  const IntTag di;
  const ShortTag ds;
  const hn::Rebind<int8_t, ShortTag> db;
  const int64_t step = paired_depth(p.shape.depth);
  const OutputTile<V> out(p, t);
  IntVec sum[R][V];
  // Between blocks of depth the integers wait where the output will be.
  FIB_UNROLL for (int r = 0; r < R; ++r) {
    FIB_UNROLL for (int v = 0; v < V; ++v) sum[r][v] = t.first ? hn::Zero(di) : hn::BitCast(di, out.load(r, v));
  }
  const int16_t* HWY_RESTRICT x = p.x + t.row * step + t.begin;
  for (int64_t k = 0; k < t.depth; k += 2) {
    ShortVec w[V];
    FIB_UNROLL for (int v = 0; v < V; ++v) {
      w[v] = hn::PromoteTo(ds, hn::LoadU(db, weights + panel_offset(v, panel_step, 2)));
    }
    FIB_UNROLL for (int r = 0; r < R; ++r) {
      int32_t pair;
      std::memcpy(&pair, x + r * step + k, sizeof(pair));
      const ShortVec value = hn::BitCast(ds, hn::Set(di, pair));
      FIB_UNROLL for (int v = 0; v < V; ++v) sum[r][v] = add_pairs(sum[r][v], value, w[v]);
    }
    weights += 2 * kPanelColumns;
  }
  FIB_UNROLL for (int r = 0; r < R; ++r) {
    const auto row_scale = hn::Set(d, p.row_scale[t.row + r]);
    FIB_UNROLL for (int v = 0; v < V; ++v) {
      FloatVec value = hn::BitCast(d, sum[r][v]);
      if (t.last) {
        const auto column_scale = hn::LoadU(d, p.column_scale + t.column + v * static_cast<int64_t>(hn::Lanes(d)));
        value = out.finished(r, v, hn::Mul(hn::ConvertTo(d, sum[r][v]), hn::Mul(row_scale, column_scale)));
      }
      out.store(r, v, value);
    }
  }
}
#else
/// Plain loops, which compilers turn into NEON's widening multiply-adds.
template <int R, int V>
HWY_NOINLINE void int8_rows(const Int8Product& p, const TileTarget& t, const int8_t* HWY_RESTRICT weights,
                            int64_t panel_step) {
  const FloatTag d;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d)), step = paired_depth(p.shape.depth);
  const OutputTile<V> out(p, t);
  for (int r = 0; r < R; ++r) {
    const int16_t* HWY_RESTRICT x = p.x + (t.row + r) * step + t.begin;
    for (int v = 0; v < V && v * n < t.columns; ++v) {
      HWY_ALIGN int32_t sum[hn::MaxLanes(FloatTag())] = {};
      HWY_ALIGN float values[hn::MaxLanes(FloatTag())];
      if (!t.first) {
        hn::Store(out.load(r, v), d, values);
        std::memcpy(sum, values, sizeof(sum));
      }
      const int8_t* HWY_RESTRICT w = weights + panel_offset(v, panel_step, 2);
      for (int64_t k = 0; k < t.depth; k += 2, w += 2 * kPanelColumns) {
        for (int64_t i = 0; i < n; ++i) sum[i] += x[k] * w[2 * i] + x[k + 1] * w[2 * i + 1];
      }
      std::memcpy(values, sum, sizeof(values));
      if (t.last) {
        const float* column_scale = p.column_scale + t.column + v * n;
        for (int64_t i = 0; i < n; ++i)
          values[i] = static_cast<float>(sum[i]) * (p.row_scale[t.row + r] * column_scale[i]);
      }
      const FloatVec value = hn::Load(d, values);
      out.store(r, v, t.last ? out.finished(r, v, value) : value);
    }
  }
}
#endif

inline void int8_tile(const Int8Product& p, const ProductTile& tile, int64_t depth_block) {
  const int64_t depth = paired_depth(p.shape.depth), panel_step = depth * kPanelColumns;
  for_register_tiles<kInt8Rows>(
      p.shape.columns, depth, tile, depth_block, [&](const TileTarget& t, auto vectors, auto count) {
        const int8_t* weights =
            p.weights + t.column / kPanelColumns * panel_step + t.begin * kPanelColumns + t.column % kPanelColumns * 2;
        int8_rows<decltype(count)::value, decltype(vectors)::value>(p, t, weights, panel_step);
      });
}
#undef FIB_UNROLL

inline void quantize(const RowQuantizer& q, int64_t begin, int64_t end) {
  const auto limit = static_cast<float>(activation_limit(q.depth));
  const int64_t padded = paired_depth(q.depth);
  for (int64_t i = begin; i < end; ++i) {
    const float* HWY_RESTRICT x = q.x + i * q.x_stride;
    int16_t* HWY_RESTRICT into = q.quantized + i * padded;
    const float top = largest_magnitude(x, q.depth);
    q.scale[i] = top / limit;
    write_quantized(x, q.depth, top > 0 ? limit / top : 0.0f, into);
    if (padded > q.depth) into[q.depth] = 0;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();
#endif
