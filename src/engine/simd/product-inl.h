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

/// One register tile: where its sums begin, and how many of its columns exist.
struct TileTarget {
  int64_t row, column, columns;
  bool first, last;  ///< of the blocks of depth
};

using FloatVec = hn::Vec<FloatTag>;

/// Bias, activation, residual.
template <class Load>
HWY_INLINE FloatVec finish(FloatVec sum, const Tail& tail, int64_t row, int64_t column, const Load& load) {
  if (tail.bias != nullptr) sum = hn::Add(sum, hn::LoadU(FloatTag(), tail.bias + column));
  if (tail.activation == Activation::gelu) sum = gelu(sum);
  if (tail.activation == Activation::relu) sum = hn::Max(sum, hn::Zero(FloatTag()));
  if (tail.residual != nullptr) sum = hn::Add(sum, load(tail.residual + row * tail.residual_stride + column));
  return sum;
}

/// Loops over a register tile: unrolled, every sum stays in its register.
#define FIB_UNROLL _Pragma("GCC unroll 16")

template <int R, int V>
HWY_NOINLINE void float_rows(const FloatProduct& p, const TileTarget& t, const float* HWY_RESTRICT weights,
                             int64_t panel_step, int64_t begin, int64_t depth) {
  const FloatTag d;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  const bool whole = t.columns >= V * n;
  const auto load = [&](int v, const float* at) HWY_ATTR {
    return whole ? hn::LoadU(d, at) : load_columns(at, std::min(n, t.columns - v * n));
  };
  float* const out = p.out + t.row * p.out_stride + t.column;
  FloatVec sum[R][V];
  FIB_UNROLL for (int r = 0; r < R; ++r) {
    FIB_UNROLL for (int v = 0; v < V; ++v) {
      sum[r][v] = t.first ? hn::Zero(d) : load(v, out + r * p.out_stride + v * n);
    }
  }
  const float* HWY_RESTRICT x = p.x + t.row * p.x_stride + begin;
  const int64_t step = p.x_stride;
  for (int64_t k = 0; k < depth; ++k) {
    FloatVec w[V];
    FIB_UNROLL for (int v = 0; v < V; ++v) {
      w[v] = hn::LoadU(d, weights + v * n / kPanelColumns * panel_step + v * n % kPanelColumns);
    }
    FIB_UNROLL for (int r = 0; r < R; ++r) {
      const FloatVec value = hn::Set(d, x[r * step + k]);
      FIB_UNROLL for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(value, w[v], sum[r][v]);
    }
    weights += kPanelColumns;
  }
  FIB_UNROLL for (int r = 0; r < R; ++r) {
    FIB_UNROLL for (int v = 0; v < V; ++v) {
      const int64_t column = t.column + v * n;
      if (t.last) {
        sum[r][v] = finish(sum[r][v], p.tail, t.row + r, column, [&](const float* at) HWY_ATTR { return load(v, at); });
      }
      if (whole) {
        hn::StoreU(sum[r][v], d, out + r * p.out_stride + v * n);
      } else {
        store_columns(sum[r][v], out + r * p.out_stride + v * n, std::min(n, t.columns - v * n));
      }
    }
  }
}

/// call(first row, integral constant of rows): full register tiles, then groups of at most six, as equal as can be, for
/// a group of one or two waits for its own sums.
template <int kFull, class Call>
HWY_INLINE void for_row_groups(int64_t row, int64_t end, const Call& call) {
  constexpr int64_t kMost = std::min(kFull, 6);
  for (; end - row >= kFull; row += kFull) call(row, std::integral_constant<int, kFull>());
  for (int64_t groups = (end - row + kMost - 1) / kMost; groups > 0; --groups) {
    const int64_t now = (end - row + groups - 1) / groups;
    switch (now) {
#define FIB_ROW_CASE(N)                                                            \
  case N:                                                                          \
    call(row, std::integral_constant<int, static_cast<int>(HWY_MIN(N, kMost))>()); \
    break;
      FIB_ROW_CASE(1)
      FIB_ROW_CASE(2)
      FIB_ROW_CASE(3)
      FIB_ROW_CASE(4)
      FIB_ROW_CASE(5)
      FIB_ROW_CASE(6)
#undef FIB_ROW_CASE
    }
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

inline void float_tile(const FloatProduct& p, const ProductTile& tile, int64_t depth_block) {
  const auto& [rows, columns, depth] = p.shape;
  const int64_t panel_step = depth * kPanelColumns;
  for (int64_t begin = 0; begin < depth; begin += depth_block) {
    const int64_t now = std::min(depth_block, depth - begin);
    for_column_groups(tile, [&](auto vectors, int64_t column) {
      if (column >= columns) return;
      const float* weights =
          p.weights + column / kPanelColumns * panel_step + begin * kPanelColumns + column % kPanelColumns;
      for_row_groups<kRows>(tile.row, tile.row_end, [&](int64_t row, auto count) {
        const TileTarget target{row, column, columns - column, begin == 0, begin + now == depth};
        float_rows<decltype(count)::value, decltype(vectors)::value>(p, target, weights, panel_step, begin, now);
      });
    });
  }
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
                            int64_t panel_step, int64_t begin, int64_t depth) {
  const FloatTag d;
  const IntTag di;
  const ShortTag ds;
  const hn::Rebind<int8_t, ShortTag> db;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  const bool whole = t.columns >= V * n;
  const int64_t step = paired_depth(p.shape.depth);
  const auto columns_of = [&](int v) HWY_ATTR { return std::min(n, t.columns - v * n); };
  const auto load = [&](int v, const float* at)
                        HWY_ATTR { return whole ? hn::LoadU(d, at) : load_columns(at, columns_of(v)); };
  float* const out = p.out + t.row * p.out_stride + t.column;
  IntVec sum[R][V];
  // Between blocks of depth the integers wait where the output will be.
  FIB_UNROLL for (int r = 0; r < R; ++r) {
    FIB_UNROLL for (int v = 0; v < V; ++v) {
      sum[r][v] = t.first ? hn::Zero(di) : hn::BitCast(di, load(v, out + r * p.out_stride + v * n));
    }
  }
  const int16_t* HWY_RESTRICT x = p.x + t.row * step + begin;
  for (int64_t k = 0; k < depth; k += 2) {
    ShortVec w[V];
    FIB_UNROLL for (int v = 0; v < V; ++v) {
      w[v] = hn::PromoteTo(ds, hn::LoadU(db, weights + v * n / kPanelColumns * panel_step + v * n % kPanelColumns * 2));
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
    FIB_UNROLL for (int v = 0; v < V; ++v) {
      const int64_t column = t.column + v * n;
      FloatVec value = hn::BitCast(d, sum[r][v]);
      if (t.last) {
        const auto scale = hn::Mul(hn::Set(d, p.row_scale[t.row + r]), hn::LoadU(d, p.column_scale + column));
        value = finish(hn::Mul(hn::ConvertTo(d, sum[r][v]), scale), p.tail, t.row + r, column,
                       [&](const float* at) HWY_ATTR { return load(v, at); });
      }
      if (whole) {
        hn::StoreU(value, d, out + r * p.out_stride + v * n);
      } else {
        store_columns(value, out + r * p.out_stride + v * n, columns_of(v));
      }
    }
  }
}
#else
/// Plain loops, which compilers turn into NEON's widening multiply-adds.
template <int R, int V>
HWY_NOINLINE void int8_rows(const Int8Product& p, const TileTarget& t, const int8_t* HWY_RESTRICT weights,
                            int64_t panel_step, int64_t begin, int64_t depth) {
  const FloatTag d;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  const int64_t step = paired_depth(p.shape.depth);
  for (int r = 0; r < R; ++r) {
    const int16_t* HWY_RESTRICT x = p.x + (t.row + r) * step + begin;
    float* const out = p.out + (t.row + r) * p.out_stride + t.column;
    for (int v = 0; v < V; ++v) {
      const int64_t count = std::min(n, t.columns - v * n);
      if (count <= 0) break;
      HWY_ALIGN int32_t sum[hn::MaxLanes(FloatTag())] = {};
      if (!t.first) std::memcpy(sum, out + v * n, static_cast<size_t>(count) * sizeof(float));
      const int8_t* HWY_RESTRICT w = weights + v * n / kPanelColumns * panel_step + v * n % kPanelColumns * 2;
      for (int64_t k = 0; k < depth; k += 2, w += 2 * kPanelColumns) {
        for (int64_t i = 0; i < n; ++i) sum[i] += x[k] * w[2 * i] + x[k + 1] * w[2 * i + 1];
      }
      HWY_ALIGN float values[hn::MaxLanes(FloatTag())];
      std::memcpy(values, sum, sizeof(values));
      if (t.last) {
        const int64_t column = t.column + v * n;
        for (int64_t i = 0; i < n; ++i) {
          values[i] = static_cast<float>(sum[i]) * (p.row_scale[t.row + r] * p.column_scale[column + i]);
        }
        const auto finished = finish(hn::Load(d, values), p.tail, t.row + r, column,
                                     [&](const float* at) HWY_ATTR { return load_columns(at, count); });
        hn::Store(finished, d, values);
      }
      std::memcpy(out + v * n, values, static_cast<size_t>(count) * sizeof(float));
    }
  }
}
#endif

inline void int8_tile(const Int8Product& p, const ProductTile& tile, int64_t depth_block) {
  const int64_t columns = p.shape.columns, depth = paired_depth(p.shape.depth);
  const int64_t panel_step = depth * kPanelColumns;
  for (int64_t begin = 0; begin < depth; begin += depth_block) {
    const int64_t now = std::min(depth_block, depth - begin);
    for_column_groups(tile, [&](auto vectors, int64_t column) {
      if (column >= columns) return;
      const int8_t* weights =
          p.weights + column / kPanelColumns * panel_step + begin * kPanelColumns + column % kPanelColumns * 2;
      for_row_groups<kInt8Rows>(tile.row, tile.row_end, [&](int64_t row, auto count) {
        const TileTarget target{row, column, columns - column, begin == 0, begin + now == depth};
        int8_rows<decltype(count)::value, decltype(vectors)::value>(p, target, weights, panel_step, begin, now);
      });
    });
  }
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
