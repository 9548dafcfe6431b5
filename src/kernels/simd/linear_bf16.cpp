// SPDX-License-Identifier: Apache-2.0
// Products of pairs of bfloat16 in register tiles, by VDPBF16PS or as it computes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/linear_bf16.cpp"
#include "kernels/simd/dispatch.h"
//

#include <algorithm>

#include "kernels/linear_bf16.h"
#include "kernels/simd/gelu-inl.h"
#include "kernels/simd/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

using Bits = hn::RebindToUnsigned<Tag<float>>;
using BitsVec = hn::Vec<Bits>;

// ---- Ways to add two products ---------------------------------------------------------------------------------------

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
inline constexpr int kBf16Rows = 12;
/// By the instruction, which Highway's targets do not tell of.
struct PairsByInstruction {
  static HWY_INLINE Vec<float> add(Vec<float> sum, BitsVec x, BitsVec w) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
    return sum;
  }
};
#else
inline constexpr int kBf16Rows = 4;
#endif

/// With its order of additions, its single roundings, and 0 for what is smaller than 2^-126.
struct PairsAsTheInstruction {
  static HWY_INLINE Vec<float> flushed(Vec<float> v) {
    const Tag<float> d;
    const auto small = hn::Lt(hn::Abs(v), hn::Set(d, 0x1p-126f));
    return hn::IfThenElse(small, hn::CopySign(hn::Zero(d), v), v);
  }
  static HWY_INLINE Vec<float> second(BitsVec pair) {
    return hn::BitCast(Tag<float>(), hn::And(pair, hn::Set(Bits(), 0xffff0000u)));
  }
  static HWY_INLINE Vec<float> first(BitsVec pair) { return hn::BitCast(Tag<float>(), hn::ShiftLeft<16>(pair)); }
  static HWY_INLINE Vec<float> add(Vec<float> sum, BitsVec x, BitsVec w) {
    sum = flushed(hn::MulAdd(second(x), second(w), flushed(sum)));
    return flushed(hn::MulAdd(first(x), first(w), sum));
  }
};

// ---- Register tiles -------------------------------------------------------------------------------------------------

template <class Way, int R, int V>
HWY_NOINLINE void bf16_rows(const Bf16Product& p, int64_t row) {
  const Tag<float> d;
  const int64_t n = lanes<float>();
  float* const c = p.c + row * p.c_row;
  Vec<float> sum[R][V];
  FIB_UNROLL for (int r = 0; r < R; ++r) {
    FIB_UNROLL for (int v = 0; v < V; ++v) {
      if (!p.begins) {
        sum[r][v] = hn::LoadU(d, c + r * p.c_row + v * n);
      } else {
        sum[r][v] = p.start == nullptr ? hn::Zero(d) : hn::LoadU(d, p.start + v * n);
      }
    }
  }
  const Bf16Pair* HWY_RESTRICT a = p.a + row * p.a_row;
  const Bf16Pair* HWY_RESTRICT b = p.panel;
  for (int64_t k = 0; k < p.pairs; ++k, a += p.a_pair, b += V * n) {
    BitsVec w[V];
    FIB_UNROLL for (int v = 0; v < V; ++v) w[v] = hn::LoadU(Bits(), b + v * n);
    FIB_UNROLL for (int r = 0; r < R; ++r) {
      const auto x = hn::Set(Bits(), a[r * p.a_row]);
      FIB_UNROLL for (int v = 0; v < V; ++v) sum[r][v] = Way::add(sum[r][v], x, w[v]);
    }
  }
  FIB_UNROLL for (int r = 0; r < R; ++r) {
    FIB_UNROLL for (int v = 0; v < V; ++v) hn::StoreU(sum[r][v], d, c + r * p.c_row + v * n);
  }
}

template <class Way, int V>
void bf16_panel(const Bf16Product& p) {
  constexpr int kFull = V == 3 ? kBf16Rows * 2 / 3 : kBf16Rows;
  int64_t row = 0;
  for (; row + kFull <= p.rows; row += kFull) bf16_rows<Way, kFull, V>(p, row);
  if constexpr (kFull > 4) {
    for (; row + 4 <= p.rows; row += 4) bf16_rows<Way, 4, V>(p, row);
  }
  for (; row < p.rows; ++row) bf16_rows<Way, 1, V>(p, row);
}

template <class Way>
void bf16_panel_of(const Bf16Product& p, int64_t vectors) {
  if (vectors == 3) return bf16_panel<Way, 3>(p);
  if (vectors == 2) return bf16_panel<Way, 2>(p);
  bf16_panel<Way, 1>(p);
}

void multiply_bf16(const Bf16Product& p, int64_t vectors, bool emulate) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if (!emulate) return bf16_panel_of<PairsByInstruction>(p, vectors);
#else
  (void)emulate;
#endif
  bf16_panel_of<PairsAsTheInstruction>(p, vectors);
}

// ---- Rounding -------------------------------------------------------------------------------------------------------

/// To bfloat16, in the upper halves; the lower ones are zero.
HWY_INLINE BitsVec rounded_bits(Vec<float> x) {
  const Bits d;
  const auto bits = hn::BitCast(d, x), upper = hn::Set(d, 0xffff0000u);
  const auto even = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto rounded = hn::And(hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), even), upper);
  const auto magnitude = hn::And(bits, hn::Set(d, 0x7fffffff)), sign = hn::And(bits, hn::Set(d, 0x80000000u));
  const auto quiet = hn::And(hn::Or(bits, hn::Set(d, 0x400000)), upper);
  const auto finite = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 0x7f800000)), quiet, rounded);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x800000)), sign, finite);
}

HWY_INLINE BitsVec joined_pair(Vec<float> first, Vec<float> second) {
  return hn::Or(hn::ShiftRight<16>(rounded_bits(first)), rounded_bits(second));
}

/// One pair, by the first lane.
HWY_INLINE Bf16Pair single_pair(float first, float second) {
  const Tag<float> d;
  return hn::GetLane(joined_pair(hn::Set(d, first), hn::Set(d, second)));
}

void pairs_along_rows(const Bf16Source& s, int64_t rows, int64_t depth, Bf16Pair* into) {
  const Tag<float> d;
  const int64_t n = lanes<float>();
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = s.values + r * s.stride;
    const float* factor = s.derivative == nullptr ? nullptr : s.derivative + r * s.stride;
    int64_t k = 0;
    for (; k + 2 * n <= depth; k += 2 * n, into += n) {
      Vec<float> first, second;
      hn::LoadInterleaved2(d, x + k, first, second);
      if (factor != nullptr) {
        Vec<float> f, g;
        hn::LoadInterleaved2(d, factor + k, f, g);
        first = hn::Mul(first, f), second = hn::Mul(second, g);
      }
      hn::StoreU(joined_pair(first, second), Bits(), into);
    }
    const auto value = [&](int64_t i) { return i >= depth ? 0.0f : factor == nullptr ? x[i] : x[i] * factor[i]; };
    for (; k < depth; k += 2) *into++ = single_pair(value(k), value(k + 1));
  }
}

void pairs_across_rows(const Bf16Source& s, int64_t depth, int64_t columns, Bf16Pair* into, float* sums) {
  const Tag<float> d;
  const int64_t n = lanes<float>();
  const auto value = [&](int64_t row, int64_t c) HWY_ATTR {
    if (row >= depth) return hn::Zero(d);
    const auto x = hn::LoadU(d, s.values + row * s.stride + c);
    return s.derivative == nullptr ? x : hn::Mul(x, hn::LoadU(d, s.derivative + row * s.stride + c));
  };
  if (sums != nullptr) std::fill_n(sums, columns, 0.0f);
  for (int64_t row = 0; row < depth; row += 2, into += columns) {
    int64_t c = 0;
    for (; c + n <= columns; c += n) {
      const auto first = value(row, c), second = value(row + 1, c);
      hn::StoreU(joined_pair(first, second), Bits(), into + c);
      if (sums != nullptr) hn::StoreU(hn::Add(hn::Add(hn::LoadU(d, sums + c), first), second), d, sums + c);
    }
    for (; c < columns; ++c) {
      const auto one = [&](int64_t i) {
        if (i >= depth) return 0.0f;
        const float x = s.values[i * s.stride + c];
        return s.derivative == nullptr ? x : x * s.derivative[i * s.stride + c];
      };
      const float first = one(row), second = one(row + 1);
      into[c] = single_pair(first, second);
      if (sums != nullptr) sums[c] = sums[c] + first + second;
    }
  }
}

/// As gelu_tile of linear-inl.h.
void gelu_values(int64_t values, float* out, float* derivative) {
  const Tag<float> d;
  const auto height = hn::Set(d, 0.39894228f);  // 1 / √(2π)
  for (int64_t i = 0; i < values; i += lanes<float>()) {
    const auto x = hn::LoadU(d, out + i);
    const NormalShare share = normal_share(x);
    hn::StoreU(hn::Mul(x, share.below), d, out + i);
    hn::StoreU(hn::MulAdd(hn::Mul(x, height), share.density, share.below), d, derivative + i);
  }
}

const Bf16Table& bf16_table_of() {
  static const Bf16Table kTable{lanes<float>(), multiply_bf16, pairs_along_rows, pairs_across_rows, gelu_values};
  return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fib::kernels {
HWY_EXPORT(bf16_table_of);
FIB_TABLE_OF_TARGET(Bf16Table, linear_bf16_of_target, bf16_table_of)
}  // namespace fib::kernels
#endif
