// SPDX-License-Identifier: Apache-2.0
// Products of int8 and bfloat16 in AMX's tiles. Included once per target.
//
// Sums are tiles of 16 × 16. A tile of x is 16 rows of 64 bytes, one of weights 16 units of depth of one panel: both
// lie in memory as they are read. Two by two tiles of sums need four loads of 8 cycles for four products of 16.
#if defined(FIB_ENGINE_AMX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_ENGINE_AMX_INL_H_
#undef FIB_ENGINE_AMX_INL_H_
#else
#define FIB_ENGINE_AMX_INL_H_
#endif

#include "engine/simd/low_precision-inl.h"

#if defined(__x86_64__) && HWY_TARGET <= HWY_AVX3
#define FIB_HAS_AMX 1

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {

inline constexpr int64_t kTileRows = 16, kTileBytes = 64;

/// Every tile full: rows that are not there are computed in vain, and lie in the room of converted_rows.
class TileSession {
 public:
  TileSession() {
    struct alignas(64) {
      uint8_t palette = 1, start = 0, reserved[14] = {};
      uint16_t bytes[16] = {};
      uint8_t rows[16] = {};
    } config;
    for (int i = 0; i < 8; ++i) config.bytes[i] = kTileBytes, config.rows[i] = kTileRows;
    asm volatile("ldtilecfg %0" ::"m"(config));
  }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;
  ~TileSession() { asm volatile("tilerelease"); }
};

struct AmxInt8 {
  using Of = Int8Product;
  using Sums = IntVec;
  static constexpr int64_t kDepth = 64;
};
struct AmxBfloat16 {
  using Of = Bfloat16Product;
  using Sums = FloatVec;
  static constexpr int64_t kDepth = 32;
};

#define FIB_TILE_PRODUCT(to, x, w)                                              \
  if constexpr (std::is_same_v<Way, AmxInt8>) {                                 \
    asm volatile("tdpbusd %%tmm" #w ", %%tmm" #x ", %%tmm" #to ::: "memory");   \
  } else {                                                                      \
    asm volatile("tdpbf16ps %%tmm" #w ", %%tmm" #x ", %%tmm" #to ::: "memory"); \
  }
#define FIB_TILE_LOAD(to, at, stride) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #to ::"r"(at), "r"(static_cast<int64_t>(stride)) : "memory")
#define FIB_TILE_STORE(from, at, stride) \
  asm volatile("tilestored %%tmm" #from ", (%0,%1,1)" ::"r"(at), "r"(static_cast<int64_t>(stride)) : "memory")

/// Sums of kDown · 16 rows and kAcross panels into `sums`, 32 columns a row.
template <class Way, int kDown, int kAcross>
HWY_INLINE void multiply_tiles(const std::byte* x, int64_t x_step, const std::byte* weights, int64_t panel_step,
                               int64_t steps, void* sums) {
  asm volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3" ::: "memory");
  for (int64_t k = 0; k < steps; ++k, x += kTileBytes, weights += kTileRows * kPanelBytes) {
    FIB_TILE_LOAD(4, x, x_step);
    FIB_TILE_LOAD(6, weights, kPanelBytes);
    FIB_TILE_PRODUCT(0, 4, 6)
    if constexpr (kAcross == 2) {
      FIB_TILE_LOAD(7, weights + panel_step, kPanelBytes);
      FIB_TILE_PRODUCT(1, 4, 7)
    }
    if constexpr (kDown == 2) {
      FIB_TILE_LOAD(5, x + kTileRows * x_step, x_step);
      FIB_TILE_PRODUCT(2, 5, 6)
      if constexpr (kAcross == 2) {
        FIB_TILE_PRODUCT(3, 5, 7)
      }
    }
  }
  constexpr int64_t kRow = 2 * kTileBytes;
  auto* const into = static_cast<std::byte*>(sums);
  FIB_TILE_STORE(0, into, kRow);
  if constexpr (kAcross == 2) FIB_TILE_STORE(1, into + kTileBytes, kRow);
  if constexpr (kDown == 2) {
    FIB_TILE_STORE(2, into + kTileRows * kRow, kRow);
    if constexpr (kAcross == 2) FIB_TILE_STORE(3, into + kTileRows * kRow + kTileBytes, kRow);
  }
}
#undef FIB_TILE_PRODUCT
#undef FIB_TILE_LOAD
#undef FIB_TILE_STORE

template <class Way, int kDown, int kAcross>
HWY_NOINLINE void amx_block(const typename Way::Of& p, const TileTarget& t, int64_t rows, const std::byte* weights,
                            int64_t panel_step) {
  const hn::RebindToSigned<FloatTag> di;
  alignas(64) int32_t sums[2 * kTileRows][2 * kPanelColumns];
  const int64_t step = row_stride(p.shape.depth) * kTileBytes / Way::kDepth;
  const std::byte* const x =
      static_cast<const std::byte*>(p.rows.values) + t.row * step + t.begin * kTileBytes / Way::kDepth;
  multiply_tiles<Way, kDown, kAcross>(x, step, weights, panel_step, t.depth / Way::kDepth, sums);
  const OutputTile<kAcross> out(p, t);
  for (int v = 0; v < kAcross; ++v) {
    const EndOf<typename Way::Of, kAcross> end(p, out, t, v);
    for (int64_t r = 0; r < rows; ++r) {
      const auto sum = hn::Load(di, sums[r] + v * kPanelColumns);
      if constexpr (std::is_same_v<Way, AmxInt8>) {
        end.store(r, sum);
      } else {
        end.store(r, hn::BitCast(FloatTag(), sum));
      }
    }
  }
}

/// Depths are multiples of Way::kDepth, and tiles begin at rows that are multiples of 16.
template <class Way>
void amx_tile(const typename Way::Of& p, const ProductTile& tile, int64_t depth_block) {
  static_assert(hn::MaxLanes(FloatTag()) == kPanelColumns);
  const TileSession session;
  const int64_t depth = p.shape.depth, panel_step = depth * kTileRows * kPanelBytes / Way::kDepth;
  for_depth_blocks(depth, depth_block, [&](int64_t begin, int64_t count) {
    for (int64_t panel = tile.panel; panel < tile.panel_end; panel += 2) {
      const bool two = panel + 1 < tile.panel_end;
      const std::byte* const weights = reinterpret_cast<const std::byte*>(p.weights) + panel * panel_step +
                                       begin * kTileRows * kPanelBytes / Way::kDepth;
      for (int64_t row = tile.row; row < tile.row_end; row += 2 * kTileRows) {
        const int64_t column = panel * kPanelColumns, rows = HWY_MIN(tile.row_end - row, 2 * kTileRows);
        const TileTarget t{row, column, p.shape.columns - column, begin, count, begin == 0, begin + count == depth};
        const bool both = rows > kTileRows;
        const auto block = two ? (both ? amx_block<Way, 2, 2> : amx_block<Way, 1, 2>)
                               : (both ? amx_block<Way, 2, 1> : amx_block<Way, 1, 1>);
        block(p, t, rows, weights, panel_step);
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();
#endif
#endif
