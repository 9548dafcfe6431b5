// SPDX-License-Identifier: Apache-2.0
// What one SIMD target does for linear layers: tiles of products, rows as these read them, layer norm. One source
// compiled for each.
#pragma once

#include "engine/product.h"
#include "engine/rows.h"

namespace fib::engine {

/// Rows [row, row_end) times panels [panel, panel_end): the unit of parallel work.
struct ProductTile {
  int64_t row, row_end, panel, panel_end;
};

/// Products of one kind by one kind of instructions.
template <class AnyProduct>
struct ProductWay {
  uint32_t needs;          ///< kernels::Extension
  RowFormat format;        ///< of the rows it reads
  int64_t rows;            ///< of a register tile
  int64_t depth_multiple;  ///< of the depths it can do
  void (*tile)(const AnyProduct&, const ProductTile&, int64_t depth_block);
};

/// Where rows of activations are written by which function.
struct RowWriters {
  using Function = void (*)(const RowSource&, const ConvertedRows&, int64_t begin, int64_t end);
  Function bfloat16, words, bytes;
};

/// The best first, the last needs nothing. A way that a target does not have has no function.
struct SimdTable {
  ProductWay<FloatProduct> float32;
  ProductWay<Bfloat16Product> bfloat16[3];
  ProductWay<Int8Product> int8[3];
  RowWriters convert;
  void (*layer_norm)(const NormRows&, int64_t begin, int64_t end);
};

/// The table of the target in use.
const SimdTable& simd_table();

}  // namespace fib::engine
