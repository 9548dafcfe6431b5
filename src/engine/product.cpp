// SPDX-License-Identifier: Apache-2.0
#include "engine/product.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/caches.h"
#include "base/parallel.h"
#include "engine/simd_table.h"

namespace fib::engine {
namespace {

/// The depth whose panel takes three quarters of the first-level cache.
int64_t depth_block(int64_t bytes_per_depth) {
  return std::max<int64_t>(64, caches().first * 3 / 4 / bytes_per_depth / 64 * 64);
}

/// How a product is cut. Panels stay together as far as the threads allow it, and all rows meet a chunk of panels
/// before the next: every weight is then read from memory once, by one core.
struct TileGrid {
  int64_t rows, panels, rows_per_tile, panels_per_tile;

  TileGrid(const ProductShape& shape, int64_t register_rows, int64_t block_bytes) : rows(shape.rows) {
    const int64_t most = std::max(register_rows, caches().second / 2 / block_bytes / register_rows * register_rows);
    const int64_t blocks = (rows + most - 1) / most;
    rows_per_tile = ((rows + blocks - 1) / blocks + register_rows - 1) / register_rows * register_rows;
    panels = panels_of(shape.columns);
    constexpr int64_t kTilesPerThread = 4, kMostPanels = 8;
    panels_per_tile = std::clamp<int64_t>(panels / (kTilesPerThread * omp_get_max_threads()), 1, kMostPanels);
    panels_per_tile = std::min((panels_per_tile + 1) / 2 * 2, panels);
  }
  int64_t row_tiles() const { return (rows + rows_per_tile - 1) / rows_per_tile; }
  int64_t tiles() const { return row_tiles() * ((panels + panels_per_tile - 1) / panels_per_tile); }
  ProductTile tile(int64_t index) const {
    const int64_t row = index % row_tiles() * rows_per_tile, panel = index / row_tiles() * panels_per_tile;
    return {row, std::min(rows, row + rows_per_tile), panel, std::min(panels, panel + panels_per_tile)};
  }
};

template <class Visit>
void for_tiles(const TileGrid& grid, const Visit& visit) {
  parallel_tasks(grid.tiles(), [&](int64_t i) { visit(grid.tile(i)); });
}

template <class Weight>
void run_float_sums(const FloatSums<Weight>& product, FloatTileFunction<Weight> tile_function) {
  const int64_t block = std::min(depth_block(kPanelColumns * 4), std::max<int64_t>(1, product.shape.depth));
  const TileGrid grid(product.shape, simd_table().rows, block * 4);
  for_tiles(grid, [&](const ProductTile& tile) { tile_function(product, tile, block); });
}

Bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<Bfloat16>(bits >> 16 | 0x40);  // not rounded to an infinity
  return static_cast<Bfloat16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace

int32_t activation_limit(int64_t depth) {
  constexpr int64_t kTenBits = 1023, kLargestWeight = 127;
  return static_cast<int32_t>(
      std::min(kTenBits, std::numeric_limits<int32_t>::max() / (kLargestWeight * std::max<int64_t>(1, depth))));
}

void run_product(const FloatProduct& product) { run_float_sums(product, simd_table().float_tile); }
void run_product(const Bfloat16Product& product) { run_float_sums(product, simd_table().bfloat16_tile); }

void run_product(const Int8Product& product) {
  const SimdTable& table = simd_table();
  const int64_t block = std::min(depth_block(kPanelColumns), paired_depth(product.shape.depth));
  const TileGrid grid(product.shape, table.rows, block * 2);
  for_tiles(grid, [&](const ProductTile& tile) { table.int8_tile(product, tile, block); });
}

void quantize_rows(const RowQuantizer& quantizer) {
  constexpr int64_t kRowsPerTask = 16;
  const SimdTable& table = simd_table();
  parallel_tasks((quantizer.rows + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t i) {
    table.quantize(quantizer, i * kRowsPerTask, std::min(quantizer.rows, (i + 1) * kRowsPerTask));
  });
}

std::vector<float> pack_weights(std::span<const float> weights, int64_t columns, int64_t depth) {
  std::vector<float> packed(static_cast<size_t>(panels_of(columns) * depth * kPanelColumns));
  for (int64_t n = 0; n < columns; ++n) {
    float* into = packed.data() + n / kPanelColumns * depth * kPanelColumns + n % kPanelColumns;
    for (int64_t k = 0; k < depth; ++k) into[k * kPanelColumns] = weights[static_cast<size_t>(n * depth + k)];
  }
  return packed;
}

std::vector<Bfloat16> pack_bfloat16(std::span<const float> weights, int64_t columns, int64_t depth) {
  const std::vector<float> packed = pack_weights(weights, columns, depth);
  std::vector<Bfloat16> rounded(packed.size());
  std::ranges::transform(packed, rounded.begin(), to_bfloat16);
  return rounded;
}

PackedInt8 pack_int8(std::span<const float> weights, int64_t columns, int64_t depth) {
  const int64_t padded = paired_depth(depth);
  PackedInt8 packed{std::vector<int8_t>(static_cast<size_t>(panels_of(columns) * padded * kPanelColumns)),
                    std::vector<float>(static_cast<size_t>(panels_of(columns) * kPanelColumns))};
  for (int64_t n = 0; n < columns; ++n) {
    const std::span row = weights.subspan(static_cast<size_t>(n * depth), static_cast<size_t>(depth));
    float top = 0;
    for (float value : row) top = std::max(top, std::abs(value));
    packed.column_scale[static_cast<size_t>(n)] = top / 127.0f;
    int8_t* into = packed.weights.data() + n / kPanelColumns * padded * kPanelColumns + n % kPanelColumns * 2;
    for (int64_t k = 0; k < depth && top > 0; ++k) {
      into[k / 2 * 2 * kPanelColumns + k % 2] =
          static_cast<int8_t>(std::lrint(row[static_cast<size_t>(k)] / top * 127.0f));
    }
  }
  return packed;
}

std::vector<float> padded_columns(std::span<const float> values) {
  std::vector<float> padded(values.begin(), values.end());
  padded.resize(static_cast<size_t>(panels_of(static_cast<int64_t>(values.size())) * kPanelColumns));
  return padded;
}

}  // namespace fib::engine
