// SPDX-License-Identifier: Apache-2.0
// Products of int8 and bfloat16 by ARM's matrix instructions, I8MM and BF16. Included once per target.
//
// smmla adds the products of two rows and two columns over eight bytes of the depth to four sums, bfmmla over four
// bfloat16: twice what sdot does, and twice again for bfloat16. Two units of a column's depth stand side by side after
// a zip, so the packed weights are those of all other processors.
#if defined(FIB_ENGINE_MATRIX_ARM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_ENGINE_MATRIX_ARM_INL_H_
#undef FIB_ENGINE_MATRIX_ARM_INL_H_
#else
#define FIB_ENGINE_MATRIX_ARM_INL_H_
#endif

#include "engine/simd/low_precision-inl.h"

#if defined(__aarch64__) && HWY_TARGET == HWY_NEON

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {

struct MatrixBytes {
  using Of = Int8Product;
  using Value = int8_t;
  using Sums = IntVec;
  static constexpr int64_t kDepth = 4;  ///< of a unit; a product takes two
  static constexpr uint32_t kNeeds = kernels::kI8mm;

  static HWY_INLINE void add(Sums& sum, IntVec x, IntVec w) {
    asm(FIB_ARM_ARCH "smmla %0.4s, %1.16b, %2.16b" : "+w"(sum.raw) : "w"(x.raw), "w"(w.raw));
  }
};

struct MatrixBfloat16 {
  using Of = Bfloat16Product;
  using Value = Bfloat16;
  using Sums = FloatVec;
  static constexpr int64_t kDepth = 2;
  static constexpr uint32_t kNeeds = kernels::kBf16Matrix;

  static HWY_INLINE void add(Sums& sum, IntVec x, IntVec w) {
    asm(FIB_ARM_ARCH "bfmmla %0.4s, %1.8h, %2.8h" : "+w"(sum.raw) : "w"(x.raw), "w"(w.raw));
  }
};

inline constexpr int kMatrixRows = 6;  ///< 24 sums, three pairs of rows and two of columns

/// R rows and one panel. Of an odd number the last row is its own partner, whose sums are not stored.
template <class Way, int R>
HWY_NOINLINE void matrix_rows(const typename Way::Of& p, const TileTarget& t, const std::byte* HWY_RESTRICT weights) {
  constexpr int kPairs = (R + 1) / 2, kAcross = 4, kTwoUnits = 8;
  const IntTag di;
  const hn::RebindToFloat<IntTag> d;
  const hn::Repartition<int64_t, IntTag> wide;
  typename Way::Sums sum[kPairs][2 * kAcross];
  FIB_UNROLL for (int i = 0; i < kPairs; ++i) {
    FIB_UNROLL for (int c = 0; c < 2 * kAcross; ++c) sum[i][c] = hn::Zero(hn::DFromV<typename Way::Sums>());
  }
  const int64_t step = row_stride(p.shape.depth) * static_cast<int64_t>(sizeof(typename Way::Value));
  const auto* HWY_RESTRICT x = static_cast<const std::byte*>(p.rows.values) + t.row * step +
                               t.begin * static_cast<int64_t>(sizeof(typename Way::Value));
  const auto eight = [&](int64_t r) FIB_INLINE_LAMBDA { return load_as<int64_t>(x + r * step); };
  for (int64_t k = 0; k < t.depth; k += 2 * Way::kDepth, x += kTwoUnits, weights += 2 * kPanelBytes) {
    IntVec pair[kPairs];
    FIB_UNROLL for (int i = 0; i < kPairs; ++i) {
      const auto upper = hn::Set(wide, eight(HWY_MIN(2 * i + 1, R - 1)));
      pair[i] = hn::BitCast(di, hn::ConcatUpperLower(wide, upper, hn::Set(wide, eight(2 * i))));
    }
    FIB_UNROLL for (int v = 0; v < kAcross; ++v) {
      const auto* const at = reinterpret_cast<const int32_t*>(weights + v * 16);
      const auto first = hn::LoadU(di, at), second = hn::LoadU(di, at + kPanelBytes / 4);
      const auto lower = hn::InterleaveLower(di, first, second), upper = hn::InterleaveUpper(di, first, second);
      FIB_UNROLL for (int i = 0; i < kPairs; ++i) {
        Way::add(sum[i][2 * v], pair[i], lower);
        Way::add(sum[i][2 * v + 1], pair[i], upper);
      }
    }
  }
  const OutputTile<kAcross> out(p, t);
  FIB_UNROLL for (int v = 0; v < kAcross; ++v) {
    const EndOf<typename Way::Of, kAcross> end(p, out, t, v);
    FIB_UNROLL for (int r = 0; r < R; ++r) {
      // Two columns of both rows each: as numbers of 64 bits, halves of a row.
      const auto low = hn::BitCast(d, sum[r / 2][2 * v]), high = hn::BitCast(d, sum[r / 2][2 * v + 1]);
      const auto row = r % 2 == 0 ? hn::ConcatLowerLower(d, high, low) : hn::ConcatUpperUpper(d, high, low);
      end.store(r, hn::BitCast(hn::DFromV<typename Way::Sums>(), row));
    }
  }
}

/// Depths are multiples of two units.
template <class Way>
void matrix_tile(const typename Way::Of& p, const ProductTile& tile, int64_t depth_block) {
  const PackedPanels packed{reinterpret_cast<const std::byte*>(p.weights), p.shape.depth, Way::kDepth};
  for_register_tiles<kMatrixRows, kVectors>(
      p.shape.columns, packed, tile, depth_block, [&](const TileTarget& t, auto, auto count) {
        matrix_rows<Way, decltype(count)::value>(p, t, packed.at(t.column, t.begin));
      });
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();
#endif
#endif
