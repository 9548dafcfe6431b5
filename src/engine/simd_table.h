// SPDX-License-Identifier: Apache-2.0
// What one SIMD target does for the engine: tiles of products and functions of rows. One source compiled for each.
#pragma once

#include "engine/product.h"
#include "engine/rows.h"

namespace fib::engine {

/// Rows [row, row_end) times panels [panel, panel_end): the unit of parallel work.
struct ProductTile {
  int64_t row, row_end, panel, panel_end;
};

template <class Weight>
using FloatTileFunction = void (*)(const FloatSums<Weight>&, const ProductTile&, int64_t depth_block);

struct SimdTable {
  int64_t rows;  ///< of a register tile
  FloatTileFunction<float> float_tile;
  FloatTileFunction<Bfloat16> bfloat16_tile;
  void (*int8_tile)(const Int8Product&, const ProductTile&, int64_t depth_block);
  void (*quantize)(const RowQuantizer&, int64_t begin, int64_t end);
  void (*layer_norm)(const NormRows&, int64_t begin, int64_t end);
  void (*softmax)(const float* x, float* out, int64_t count);
  void (*gelu)(const float* x, float* out, int64_t count);
  void (*sigmoid)(const float* x, float* out, int64_t count);
};

/// The table of the target in use.
const SimdTable& simd_table();

}  // namespace fib::engine
