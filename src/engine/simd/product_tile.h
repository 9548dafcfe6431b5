// SPDX-License-Identifier: Apache-2.0
// The tiles of products, and the table of one SIMD target's functions.
#pragma once

#include "engine/product.h"

namespace fib::engine {

/// Rows [row, row_end) times panels [panel, panel_end): the unit of parallel work.
struct ProductTile {
  int64_t row, row_end, panel, panel_end;
};

/// How much of the depth is summed at a time: one panel of this depth stays in the first-level cache while all rows of
/// the tile meet it.
struct DepthBlock {
  int64_t float32, int8;
};

struct ProductTable {
  int64_t rows;  ///< of the register tile
  void (*float_tile)(const FloatProduct&, const ProductTile&, int64_t depth_block);
  void (*int8_tile)(const Int8Product&, const ProductTile&, int64_t depth_block);
  void (*quantize)(const RowQuantizer&, int64_t begin, int64_t end);
};

/// The table of a target, given as Highway's bit.
const ProductTable& products_of_target(int64_t target);

}  // namespace fib::engine
