// SPDX-License-Identifier: Apache-2.0
#include "engine/product.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "base/parallel.h"
#include "base/processor.h"
#include "engine/simd_table.h"
#include "kernels/extensions.h"

namespace fib::engine {
namespace {

int64_t rounded_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

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

/// The first way of a table that the processor has and that can do this depth.
template <class AnyProduct, size_t kWays>
const ProductWay<AnyProduct>& way_for(const ProductWay<AnyProduct> (&ways)[kWays], int64_t depth) {
  const uint32_t there = kernels::extensions();
  size_t i = 0;
  while (ways[i].tile == nullptr || (ways[i].needs & ~there) != 0 || depth % ways[i].depth_multiple != 0) ++i;
  return ways[i];
}

/// Equal blocks of the depth whose part of a panel stays in the first-level cache.
int64_t equal_depth_block(int64_t depth, int64_t weight_bytes) {
  const int64_t most = depth_block(kPanelColumns * weight_bytes);
  const int64_t blocks = (depth + most - 1) / most;
  return rounded_up((depth + blocks - 1) / blocks, 64);
}

/// A panel's part of the depth stays in the first-level cache and the rows in the second. `weight_bytes` and
/// `row_bytes` are those of one value.
template <class AnyProduct>
void run_by(const ProductWay<AnyProduct>& way, const AnyProduct& product, int64_t weight_bytes, int64_t row_bytes) {
  const int64_t depth = std::max<int64_t>(1, product.shape.depth), block = equal_depth_block(depth, weight_bytes);
  const TileGrid grid(product.shape, way.rows, std::min(block, depth) * row_bytes);
  for_tiles(grid, [&](const ProductTile& tile) { way.tile(product, tile, block); });
}

RowWriters::Function writer_of(RowFormat format) {
  const RowWriters& writers = simd_table().convert;
  if (format == RowFormat::bytes) return writers.bytes;
  return format == RowFormat::words ? writers.words : writers.bfloat16;
}

/// Where the weights stay in each core's cache, and each thread has rows enough to be fast, it converts and multiplies
/// its own rows: they stay in its cache too, and threads do not wait for each other in between. False, and nothing
/// done, elsewhere. From memory all weights would be read by all threads: at ViT-B's widths that costs a fifth of the
/// speed.
template <class AnyProduct>
bool run_by_rows(const ProductWay<AnyProduct>& way, const RowSource& source, const AnyProduct& product,
                 int64_t weight_bytes) {
  constexpr int64_t kLeastRows = 48;
  const int64_t depth = std::max<int64_t>(1, product.shape.depth), panels = panels_of(product.shape.columns);
  if (depth * panels * kPanelColumns * weight_bytes > caches().second / 4) return false;
  // AMX's tiles begin at multiples of 16 rows.
  const int64_t chunks = std::min<int64_t>(2 * omp_get_max_threads(), source.rows / kLeastRows);
  if (chunks < omp_get_max_threads()) return false;
  const int64_t rows = rounded_up((source.rows + chunks - 1) / chunks, way.depth_multiple > 1 ? way.rows : 1);
  const int64_t block = equal_depth_block(depth, weight_bytes);
  const RowWriters::Function write = writer_of(product.format);
  parallel_tasks((source.rows + rows - 1) / rows, [&](int64_t i) {
    const int64_t begin = i * rows, end = std::min(source.rows, begin + rows);
    write(source, product.rows, begin, end);
    way.tile(product, {begin, end, 0, panels}, block);
  });
  return true;
}

}  // namespace

Bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<Bfloat16>(bits >> 16 | 0x40);  // not rounded to an infinity
  return static_cast<Bfloat16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

int32_t word_limit(int64_t depth) {
  constexpr int64_t kTenBits = 1023, kLargestWeight = 127;
  return static_cast<int32_t>(
      std::min(kTenBits, std::numeric_limits<int32_t>::max() / (kLargestWeight * std::max<int64_t>(1, depth))));
}

template <>
RowFormat row_format<float>(int64_t) {
  return RowFormat::float32;
}
template <>
RowFormat row_format<Bfloat16>(int64_t depth) {
  const ProductWay<Bfloat16Product>& way = way_for(simd_table().bfloat16, depth);
  const bool slow = way.needs == kernels::kAvx512Bf16 && !kernels::bfloat16_pairs_are_fast();
  return slow ? RowFormat::float32 : way.format;
}
template <>
RowFormat row_format<int8_t>(int64_t depth) {
  return way_for(simd_table().int8, depth).format;
}

// Rows that lie a multiple of 1 KB apart would share few lines of the first-level cache. AMX reads whole tiles of 16
// rows and 64 bytes.
int64_t row_stride(int64_t depth) {
  const int64_t whole = rounded_up(depth, 64);
  return whole % 1024 == 0 ? whole + 64 : whole;
}
int64_t converted_floats(int64_t rows, int64_t depth) {
  const Checked all = (Checked(rows) + 15).value() / 16 * 16;
  return (all * ((Checked(depth) + 128).value() / 64 * 64 / 2 + 2)).value();
}
ConvertedRows converted_rows(float* room, int64_t rows, int64_t depth) {
  const int64_t all = rounded_up(rows, 16);
  float* const scale = room + all * row_stride(depth) / 2;
  return {room, scale, reinterpret_cast<int32_t*>(scale + all)};
}

void convert_rows(const RowSource& source, RowFormat format, const ConvertedRows& into) {
  constexpr int64_t kRowsPerTask = 16;
  const RowWriters::Function write = writer_of(format);
  parallel_tasks((source.rows + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t i) {
    write(source, into, i * kRowsPerTask, std::min(source.rows, (i + 1) * kRowsPerTask));
  });
}

void run_product(const FloatProduct& product) { run_by(simd_table().float32, product, 4, 4); }

namespace {

const ProductWay<Bfloat16Product>& way_of(const Bfloat16Product& product) {
  const auto& ways = simd_table().bfloat16;
  return product.format == RowFormat::float32 ? ways[std::size(ways) - 1] : way_for(ways, product.shape.depth);
}
const ProductWay<Int8Product>& way_of(const Int8Product& product) {
  const auto& ways = simd_table().int8;
  return product.format == RowFormat::words ? ways[std::size(ways) - 1] : way_for(ways, product.shape.depth);
}

}  // namespace

void run_product(const Bfloat16Product& product) {
  const int64_t bytes = product.format == RowFormat::float32 ? 4 : 2;
  run_by(way_of(product), product, bytes, bytes);
}

void run_product(const Int8Product& product) {
  run_by(way_of(product), product, 1, product.format == RowFormat::words ? 2 : 1);
}

void run_linear(const RowSource& source, const Bfloat16Product& product) {
  if (run_by_rows(way_of(product), source, product, 2)) return;
  convert_rows(source, product.format, product.rows);
  run_product(product);
}

void run_linear(const RowSource& source, const Int8Product& product) {
  if (run_by_rows(way_of(product), source, product, 1)) return;
  convert_rows(source, product.format, product.rows);
  run_product(product);
}

namespace {

/// Where the weight of a column at a depth lies among those of its type.
template <class Weight>
size_t packed_place(int64_t column, int64_t k, int64_t depth) {
  constexpr int64_t kUnit = kDepthUnit<Weight>;
  const int64_t panel = column / kPanelColumns * packed_depth<Weight>(depth) * kPanelColumns;
  return static_cast<size_t>(panel + (k / kUnit * kPanelColumns + column % kPanelColumns) * kUnit + k % kUnit);
}

template <class Weight>
std::vector<Weight> room_for(int64_t columns, int64_t depth) {
  return std::vector<Weight>(static_cast<size_t>(panels_of(columns) * packed_depth<Weight>(depth) * kPanelColumns));
}

}  // namespace

std::vector<float> pack_weights(std::span<const float> weights, int64_t columns, int64_t depth) {
  auto packed = room_for<float>(columns, depth);
  for (int64_t n = 0; n < columns; ++n) {
    for (int64_t k = 0; k < depth; ++k)
      packed[packed_place<float>(n, k, depth)] = weights[static_cast<size_t>(n * depth + k)];
  }
  return packed;
}

std::vector<Bfloat16> pack_bfloat16(std::span<const float> weights, int64_t columns, int64_t depth) {
  auto packed = room_for<Bfloat16>(columns, depth);
  for (int64_t n = 0; n < columns; ++n) {
    for (int64_t k = 0; k < depth; ++k)
      packed[packed_place<Bfloat16>(n, k, depth)] = to_bfloat16(weights[static_cast<size_t>(n * depth + k)]);
  }
  return packed;
}

QuantizedWeights quantize_weights(std::span<const float> weights, int64_t columns, int64_t depth) {
  QuantizedWeights quantized{std::vector<int8_t>(weights.size()), std::vector<float>(static_cast<size_t>(columns))};
  for (int64_t n = 0; n < columns; ++n) {
    const auto first = static_cast<size_t>(n * depth), count = static_cast<size_t>(depth);
    float most = 0;
    for (const float value : weights.subspan(first, count)) most = std::max(most, std::abs(value));
    quantized.scale[static_cast<size_t>(n)] = most / 127.0f;
    for (size_t i = first; i < first + count && most > 0; ++i)
      quantized.values[i] = static_cast<int8_t>(std::lrint(weights[i] / most * 127.0f));
  }
  return quantized;
}

PackedInt8 pack_int8(std::span<const float> weights, int64_t columns, int64_t depth) {
  const auto filled = static_cast<size_t>(panels_of(columns) * kPanelColumns);
  PackedInt8 packed{room_for<int8_t>(columns, depth), std::vector<float>(2 * filled)};
  const QuantizedWeights quantized = quantize_weights(weights, columns, depth);
  std::ranges::copy(quantized.scale, packed.columns.begin());
  for (int64_t n = 0; n < columns; ++n) {
    int64_t sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const int8_t value = quantized.values[static_cast<size_t>(n * depth + k)];
      packed.weights[packed_place<int8_t>(n, k, depth)] = value;
      sum += value;
    }
    packed.columns[filled + static_cast<size_t>(n)] = static_cast<float>(sum);
  }
  return packed;
}

std::vector<float> padded_columns(std::span<const float> values) {
  std::vector<float> padded(values.begin(), values.end());
  padded.resize(static_cast<size_t>(panels_of(static_cast<int64_t>(values.size())) * kPanelColumns));
  return padded;
}

}  // namespace fib::engine
