// SPDX-License-Identifier: Apache-2.0
// Products of int8 and bfloat16. Included once per target.
//
// Packed weights have four bytes of the depth of one column, a *unit*, beside those of the next column: 64 bytes for a
// panel's 16 columns. A *way* is how some instructions multiply units: what it keeps in registers, and how it adds.
#if defined(FIB_ENGINE_LOW_PRECISION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_ENGINE_LOW_PRECISION_INL_H_
#undef FIB_ENGINE_LOW_PRECISION_INL_H_
#else
#define FIB_ENGINE_LOW_PRECISION_INL_H_
#endif

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "engine/simd/product-inl.h"
#include "kernels/extensions.h"

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {

using IntTag = hn::RebindToSigned<FloatTag>;
using IntVec = hn::Vec<IntTag>;

inline constexpr int64_t kUnitBytes = 4, kPanelBytes = kPanelColumns * kUnitBytes;

/// Where vector v of n columns lies in packed units, from the tile's first; panels are `panel_step` bytes apart.
HWY_INLINE int64_t unit_offset(int v, int64_t n, int64_t panel_step) {
  return v * n / kPanelColumns * panel_step + v * n % kPanelColumns * kUnitBytes;
}

template <class T>
HWY_INLINE T load_as(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

/// What finishes the sums of a vector of columns, loaded once for all rows.
template <int V>
class ColumnEnd {
 public:
  HWY_INLINE ColumnEnd(const Int8Product& p, const OutputTile<V>& out, const TileTarget& t, int v)
      : p_(p), out_(out), t_(t), v_(v), bias_(out.bias(v)) {
    const int64_t column = t.column + v * static_cast<int64_t>(hn::Lanes(FloatTag()));
    scale_ = hn::LoadU(FloatTag(), p.column_scale + column);
    sum_ = hn::ConvertTo(IntTag(), hn::LoadU(FloatTag(), p.column_sum + column));
  }

  /// The sums as numbers: without the zero of their row, scaled.
  HWY_INLINE void store(int64_t r, IntVec sum) const {
    const FloatTag d;
    const IntTag di;
    if (!t_.first) sum = hn::Add(sum, hn::BitCast(di, out_.load(r, v_)));
    if (!t_.last) return out_.store(r, v_, hn::BitCast(d, sum));
    if (p_.format == RowFormat::bytes) sum = hn::Sub(sum, hn::Mul(hn::Set(di, p_.rows.zero[t_.row + r]), sum_));
    const auto scale = hn::Mul(hn::Set(d, p_.rows.scale[t_.row + r]), scale_);
    out_.store(r, v_, out_.finished(r, v_, hn::Mul(hn::ConvertTo(d, sum), scale), bias_));
  }

 private:
  const Int8Product& p_;
  const OutputTile<V>& out_;
  const TileTarget& t_;
  int v_;
  FloatVec bias_, scale_;
  IntVec sum_;
};

/// The same of sums of bfloat16.
template <int V>
class FloatColumnEnd {
 public:
  HWY_INLINE FloatColumnEnd(const Bfloat16Product&, const OutputTile<V>& out, const TileTarget& t, int v)
      : out_(out), t_(t), v_(v), bias_(out.bias(v)) {}

  HWY_INLINE void store(int64_t r, FloatVec sum) const {
    if (!t_.first) sum = hn::Add(sum, out_.load(r, v_));
    out_.store(r, v_, t_.last ? out_.finished(r, v_, sum, bias_) : sum);
  }

 private:
  const OutputTile<V>& out_;
  const TileTarget& t_;
  int v_;
  FloatVec bias_;
};

template <class Of, int V>
using EndOf = std::conditional_t<std::is_same_v<Of, Int8Product>, ColumnEnd<V>, FloatColumnEnd<V>>;

template <class Way, int R, int V>
HWY_NOINLINE void unit_rows(const typename Way::Of& p, const TileTarget& t, const std::byte* HWY_RESTRICT weights,
                            int64_t panel_step) {
  constexpr int kParts = V * Way::kPartsPerVector;
  const OutputTile<V> out(p, t);
  typename Way::Sums sum[R][kParts];
  FIB_UNROLL for (int r = 0; r < R; ++r) { FIB_UNROLL for (int i = 0; i < kParts; ++i) sum[r][i] = Way::zero(); }
  const int64_t step = row_stride(p.shape.depth);
  const auto* HWY_RESTRICT x = static_cast<const typename Way::Value*>(p.rows.values) + t.row * step + t.begin;
  for (int64_t k = 0; k < t.depth; k += Way::kDepth) {
    typename Way::Factors w[kParts];
    FIB_UNROLL for (int i = 0; i < kParts; ++i) w[i] = Way::load(weights, i, panel_step);
    FIB_UNROLL for (int r = 0; r < R; ++r) {
      const auto value = Way::broadcast(x + r * step + k);
      FIB_UNROLL for (int i = 0; i < kParts; ++i) sum[r][i] = Way::add(sum[r][i], value, w[i]);
    }
    weights += kPanelBytes;
    // The next rows, line by line: where they come from the second-level cache, R streams are too many to be foreseen.
    __builtin_prefetch(x + R * step + k * R);
  }
  FIB_UNROLL for (int v = 0; v < V; ++v) {
    const EndOf<typename Way::Of, V> end(p, out, t, v);
    FIB_UNROLL for (int r = 0; r < R; ++r) end.store(r, Way::joined(sum[r] + v * Way::kPartsPerVector));
  }
}

/// Rows meet Way::kAcross vectors of columns, Way::kVectors at a time, before the next rows do.
template <class Way>
void unit_tile(const typename Way::Of& p, const ProductTile& tile, int64_t depth_block) {
  const int64_t depth = (p.shape.depth + Way::kDepth - 1) / Way::kDepth * Way::kDepth;
  const int64_t n = static_cast<int64_t>(hn::Lanes(FloatTag()));
  const PackedPanels packed{reinterpret_cast<const std::byte*>(p.weights), depth, Way::kDepth};
  for_register_tiles<Way::kRows, Way::kAcross>(
      p.shape.columns, packed, tile, depth_block, [&](TileTarget t, auto across, auto count) {
        constexpr int kAtOnce = std::min(Way::kVectors, decltype(across)::value);
        for (int v = 0; v < decltype(across)::value && t.columns > 0; v += kAtOnce) {
          unit_rows<Way, decltype(count)::value, kAtOnce>(p, t, packed.at(t.column, t.begin), packed.panel_bytes());
          t.column += kAtOnce * n, t.columns -= kAtOnce * n;
        }
      });
}

// ---- int8, activations of sixteen bits ------------------------------------------------------------------------------

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
/// Pairs of sixteen bits are exact; products of bytes on AVX2 (vpmaddubsw) saturate. A unit gives two sums, side by
/// side, so a vector holds those of half its columns.
struct Words {
  using Of = Int8Product;
  using Value = int16_t;
  using Sums = IntVec;
  using ShortTag = hn::Repartition<int16_t, IntTag>;
  using Factors = hn::Vec<ShortTag>;
  // A register for each product before it is added: 5 × 2 of 256 bits.
  static constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 12 : 5, kVectors = 1, kPartsPerVector = 2;
  static constexpr int kAcross = static_cast<int>(kPanelColumns / hn::MaxLanes(IntTag()));
  static constexpr int64_t kDepth = 4;

  static HWY_INLINE IntVec zero() { return hn::Zero(IntTag()); }
  static HWY_INLINE Factors load(const std::byte* weights, int i, int64_t) {
    const hn::Rebind<int8_t, ShortTag> narrow;
    const auto bytes = static_cast<int64_t>(hn::Lanes(narrow));
    return hn::PromoteTo(ShortTag(), hn::LoadU(narrow, reinterpret_cast<const int8_t*>(weights) + i * bytes));
  }
  static HWY_INLINE Factors broadcast(const int16_t* x) {
    return hn::BitCast(ShortTag(), hn::Set(hn::Repartition<int64_t, IntTag>(), load_as<int64_t>(x)));
  }
  static HWY_INLINE IntVec add(IntVec sum, Factors x, Factors w) {
#if HWY_TARGET == HWY_AVX2
    // Left to itself GCC 12 adds into the register of the product and then copies it back, which costs a third of the
    // speed.
    const __m256i product = _mm256_madd_epi16(x.raw, w.raw);
    asm("vpaddd %1, %0, %0" : "+x"(sum.raw) : "x"(product));
    return sum;
#else
    IntVec unused = hn::Zero(IntTag());
    return hn::ReorderWidenMulAccumulate(IntTag(), x, w, sum, unused);
#endif
  }
  static HWY_INLINE IntVec joined(const IntVec* part) {
    const IntTag d;
    return hn::Add(hn::ConcatEven(d, part[1], part[0]), hn::ConcatOdd(d, part[1], part[0]));
  }
};
inline constexpr int kWordRows = Words::kRows;
inline void word_tile(const Int8Product& p, const ProductTile& tile, int64_t depth_block) {
  unit_tile<Words>(p, tile, depth_block);
}
#else
/// Plain loops, which compilers turn into NEON's widening multiply-adds.
inline constexpr int kWordRows = 6;
inline void word_tile(const Int8Product& p, const ProductTile& tile, int64_t) {
  const int64_t n = static_cast<int64_t>(hn::Lanes(FloatTag())), stride = row_stride(p.shape.depth);
  const int64_t depth = packed_depth<int8_t>(p.shape.depth);
  for (int64_t column = tile.panel * kPanelColumns; column < HWY_MIN(p.shape.columns, tile.panel_end * kPanelColumns);
       column += n) {
    const int8_t* const panel = p.weights + column / kPanelColumns * depth * kPanelColumns + column % kPanelColumns * 4;
    for (int64_t row = tile.row; row < tile.row_end; ++row) {
      const TileTarget t{row, column, p.shape.columns - column, 0, depth, true, true};
      HWY_ALIGN int32_t sum[hn::MaxLanes(FloatTag())] = {};
      const int16_t* HWY_RESTRICT x = static_cast<const int16_t*>(p.rows.values) + row * stride;
      const int8_t* HWY_RESTRICT w = panel;
      for (int64_t k = 0; k < depth; k += 4, w += kPanelBytes) {
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < 4; ++j) sum[i] += x[k + j] * w[4 * i + j];
        }
      }
      const OutputTile<1> out(p, t);
      ColumnEnd<1>(p, out, t, 0).store(0, hn::Load(IntTag(), sum));
    }
  }
}
#endif

// ---- int8, activations of eight bits --------------------------------------------------------------------------------

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
/// vpdpbusd, with 512 bits of AVX512-VNNI or 256 of AVX-VNNI: four products of an unsigned and a signed byte added to
/// each sum, without saturation.
struct Bytes {
  using Of = Int8Product;
  using Value = uint8_t;
  using Sums = IntVec;
  using Factors = IntVec;
  static constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6, kVectors = 2, kAcross = 2, kPartsPerVector = 1;
  static constexpr int64_t kDepth = 4;
  static constexpr uint32_t kNeeds = HWY_TARGET <= HWY_AVX3 ? kernels::kAvx512Vnni : kernels::kAvxVnni;

  static HWY_INLINE IntVec zero() { return hn::Zero(IntTag()); }
  static HWY_INLINE Factors load(const std::byte* weights, int i, int64_t panel_step) {
    const IntTag d;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    return hn::LoadU(d, reinterpret_cast<const int32_t*>(weights + unit_offset(i, n, panel_step)));
  }
  static HWY_INLINE Factors broadcast(const uint8_t* x) { return hn::Set(IntTag(), load_as<int32_t>(x)); }
  static HWY_INLINE IntVec add(IntVec sum, Factors x, Factors w) {
    // Written out: the target's flags do not name these instructions.
#if HWY_TARGET <= HWY_AVX3
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
#else
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(x.raw), "x"(w.raw));
#endif
    return sum;
  }
  static HWY_INLINE IntVec joined(const IntVec* part) { return part[0]; }
};
#define FIB_HAS_BYTES 1
#elif defined(__aarch64__) && HWY_TARGET == HWY_NEON
/// sdot: four products of signed bytes added to each sum.
struct Bytes {
  using Of = Int8Product;
  using Value = int8_t;
  using Sums = IntVec;
  using Factors = IntVec;
  static constexpr int kRows = 6, kVectors = 4, kAcross = 4, kPartsPerVector = 1;
  static constexpr int64_t kDepth = 4;
  static constexpr uint32_t kNeeds = kernels::kDotProduct;

  static HWY_INLINE IntVec zero() { return hn::Zero(IntTag()); }
  static HWY_INLINE Factors load(const std::byte* weights, int i, int64_t) {
    return hn::LoadU(IntTag(), reinterpret_cast<const int32_t*>(weights) + i * 4);
  }
  static HWY_INLINE Factors broadcast(const int8_t* x) { return hn::Set(IntTag(), load_as<int32_t>(x)); }
  static HWY_INLINE IntVec add(IntVec sum, Factors x, Factors w) {
    asm(FIB_ARM_ARCH "sdot %0.4s, %1.16b, %2.16b" : "+w"(sum.raw) : "w"(x.raw), "w"(w.raw));
    return sum;
  }
  static HWY_INLINE IntVec joined(const IntVec* part) { return part[0]; }
};
#define FIB_HAS_BYTES 1
#endif

// ---- bfloat16 -------------------------------------------------------------------------------------------------------

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
/// vdpbf16ps: two products of bfloat16 added to each sum.
struct Bfloat16Pairs {
  using Of = Bfloat16Product;
  using Value = Bfloat16;
  using Sums = FloatVec;
  using Factors = IntVec;
  static constexpr int kRows = 12, kVectors = 2, kAcross = 2, kPartsPerVector = 1;
  static constexpr int64_t kDepth = 2;

  static HWY_INLINE FloatVec zero() { return hn::Zero(FloatTag()); }
  static HWY_INLINE Factors load(const std::byte* weights, int i, int64_t panel_step) {
    return hn::LoadU(IntTag(), reinterpret_cast<const int32_t*>(weights + i * panel_step));
  }
  static HWY_INLINE Factors broadcast(const Bfloat16* x) { return hn::Set(IntTag(), load_as<int32_t>(x)); }
  static HWY_INLINE FloatVec add(FloatVec sum, Factors x, Factors w) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
    return sum;
  }
  static HWY_INLINE FloatVec joined(const FloatVec* part) { return part[0]; }
};
#endif

/// Where bfloat16 cannot be multiplied: activations stay float32, weights are widened in registers.
template <int R, int V>
HWY_NOINLINE void widened_rows(const Bfloat16Product& p, const TileTarget& t, const std::byte* HWY_RESTRICT weights,
                               int64_t panel_step) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> du;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d)), step = p.x_stride;
  const OutputTile<V> out(p, t);
  FloatVec sum[R][V];
  FIB_UNROLL for (int r = 0; r < R; ++r) {
    FIB_UNROLL for (int v = 0; v < V; ++v) sum[r][v] = t.first ? hn::Zero(d) : out.load(r, v);
  }
  const float* HWY_RESTRICT x = p.x + t.row * step + t.begin;
  const auto multiply = [&](int64_t k, const FloatVec(&w)[V]) FIB_INLINE_LAMBDA {
    FIB_UNROLL for (int r = 0; r < R; ++r) {
      const FloatVec value = hn::Set(d, x[r * step + k]);
      FIB_UNROLL for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(value, w[v], sum[r][v]);
    }
  };
  const auto pair = [&](int v) FIB_INLINE_LAMBDA {
    return hn::LoadU(du, reinterpret_cast<const uint32_t*>(weights + unit_offset(v, n, panel_step)));
  };
  for (int64_t k = 0; k < t.depth; k += 2) {
    FloatVec w[V];
    FIB_UNROLL for (int v = 0; v < V; ++v) w[v] = hn::BitCast(d, hn::ShiftLeft<16>(pair(v)));
    multiply(k, w);
    // Sums and factors fill the registers: what has been loaded is loaded again rather than kept.
    asm volatile("" ::: "memory");
    if (k + 1 < t.depth) {
      FIB_UNROLL for (int v = 0; v < V; ++v) w[v] = hn::BitCast(d, hn::And(pair(v), hn::Set(du, 0xffff0000u)));
      multiply(k + 1, w);
    }
    weights += kPanelBytes;
  }
  store_tile<R, V>(out, t, sum);
}

inline void widened_tile(const Bfloat16Product& p, const ProductTile& tile, int64_t depth_block) {
  const PackedPanels packed{reinterpret_cast<const std::byte*>(p.weights), packed_depth<Bfloat16>(p.shape.depth), 2};
  for_register_tiles<kRows, kVectors>(
      p.shape.columns, packed, tile, depth_block, [&](TileTarget t, auto vectors, auto count) {
        t.depth = std::min(t.depth, p.shape.depth - t.begin);  // what fills an odd depth is not multiplied
        widened_rows<decltype(count)::value, decltype(vectors)::value>(p, t, packed.at(t.column, t.begin),
                                                                       packed.panel_bytes());
      });
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();
#endif
