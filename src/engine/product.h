// SPDX-License-Identifier: Apache-2.0
// Linear layers: out [M,N] = epilogue(x [M,K] · W), with weights that were packed when the model was compiled.
//
// Letters: M rows (tokens), N columns (output channels), K depth (input channels). W lies in panels of 16 columns:
// float32 as [N/16, K, 16], bfloat16 as [N/16, K/2, 16, 2], int8 as [N/16, K/4, 16, 4], zeros where N or K do not fill.
// These are the orders in which AMX, AVX512-BF16, VNNI and ARM's dot products read their factors, and others can: all
// targets read this one layout in place, so a mapped file needs no preparation. Results are bitwise equal for any
// number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fib::engine {

inline constexpr int64_t kPanelColumns = 16;
inline constexpr int64_t panels_of(int64_t columns) { return (columns + kPanelColumns - 1) / kPanelColumns; }

/// The upper half of a float32's bits.
using Bfloat16 = uint16_t;

/// The nearest; of two that are as near, the even one.
Bfloat16 to_bfloat16(float value);

/// Values of the depth that lie together in a column of packed weights: four bytes of them.
template <class Weight>
inline constexpr int64_t kDepthUnit = 4 / static_cast<int64_t>(sizeof(Weight));
/// The depth of packed weights.
template <class Weight>
constexpr int64_t packed_depth(int64_t depth) {
  return (depth + kDepthUnit<Weight> - 1) / kDepthUnit<Weight> * kDepthUnit<Weight>;
}

/// The largest depth of an int8 product: no sum of 255 · 127 overflows.
inline constexpr int64_t kMaxInt8Depth = 65536;
/// The largest activation of sixteen bits: ten bits cost there what seven do, and the bound keeps sums within 32 bits.
int32_t word_limit(int64_t depth);

enum class Activation { none, gelu, relu };

/// What happens to a sum before it is written, in this order.
struct Epilogue {
  const float* bias = nullptr;  ///< [panels · 16]
  Activation activation = Activation::none;
  const float* residual = nullptr;  ///< [M,N], added; not the output itself
  int64_t residual_stride = 0;
};

struct ProductShape {
  int64_t rows, columns, depth;
};

/// What all precisions share. Strides count elements from one row to the next.
struct Product {
  ProductShape shape;
  float* out = nullptr;
  int64_t out_stride = 0;
  Epilogue epilogue;
};

/// Sums in float32 of what is read as float32.
template <class Weight>
struct FloatSums : Product {
  const float* x = nullptr;
  int64_t x_stride = 0;
  const Weight* weights = nullptr;  ///< packed
};
using FloatProduct = FloatSums<float>;

/// How the rows of activations are written for a product.
enum class RowFormat {
  float32,
  bfloat16,
  words,  ///< int16, from -word_limit to word_limit
  bytes   ///< uint8 with a zero of their own in each row, or on ARM int8
};
/// What products of this machine and target read fastest; of float32 weights float32.
template <class Weight>
RowFormat row_format(int64_t depth);

/// Rows in one of these formats. Integers are what x is divided by `scale`, plus `zero`.
struct ConvertedRows {
  void* values = nullptr;   ///< from one row to the next row_stride(depth) values
  float* scale = nullptr;   ///< [rows]
  int32_t* zero = nullptr;  ///< [rows]
};
int64_t row_stride(int64_t depth);
/// The room that a format which is not float32 may take, in floats, and the parts of such room.
int64_t converted_floats(int64_t rows, int64_t depth);
ConvertedRows converted_rows(float* room, int64_t rows, int64_t depth);

/// Rows of activations, and the layer norm that they go through first.
struct RowSource {
  const float* x = nullptr;
  int64_t x_stride = 0, rows = 0, depth = 0;
  const float *norm_weight = nullptr, *norm_bias = nullptr;  ///< null: no norm
  float epsilon = 0;
};
/// In parallel; formats other than float32.
void convert_rows(const RowSource& source, RowFormat format, const ConvertedRows& into);

/// Sums in float32 of products of bfloat16.
struct Bfloat16Product : Product {
  RowFormat format = RowFormat::float32;  ///< or bfloat16
  const float* x = nullptr;               ///< of float32
  int64_t x_stride = 0;
  ConvertedRows rows;  ///< of bfloat16
  const Bfloat16* weights = nullptr;
};

/// out = epilogue(scale of row and column · Σ (x - zero) w), the sum exact.
struct Int8Product : Product {
  RowFormat format = RowFormat::bytes;  ///< or words
  ConvertedRows rows;
  const int8_t* weights = nullptr;      ///< packed
  const float* column_scale = nullptr;  ///< [panels · 16]
  const float* column_sum = nullptr;    ///< [panels · 16], of the integers: exact, being below 2^24
};

/// A product and the rows that it reads, in its format: converted and multiplied, in parallel.
void run_linear(const RowSource& source, const Bfloat16Product& product);
void run_linear(const RowSource& source, const Int8Product& product);

/// In parallel.
void run_product(const FloatProduct& product);
void run_product(const Bfloat16Product& product);
void run_product(const Int8Product& product);

// ---- Packing, when a model is compiled
// -------------------------------------------------------------------------------

/// weights [N,K], as torch stores a linear layer.
std::vector<float> pack_weights(std::span<const float> weights, int64_t columns, int64_t depth);
/// The same, rounded to the nearest; of two that are as near, the even one.
std::vector<Bfloat16> pack_bfloat16(std::span<const float> weights, int64_t columns, int64_t depth);
/// weights [N,K] in eight bits, each output channel with a scale of its own: weights ≈ scale · values.
struct QuantizedWeights {
  std::vector<int8_t> values;  ///< [N,K]
  std::vector<float> scale;    ///< [N]
};
QuantizedWeights quantize_weights(std::span<const float> weights, int64_t columns, int64_t depth);
struct PackedInt8 {
  std::vector<int8_t> weights;
  std::vector<float> columns;  ///< [2, panels · 16]: scales, then sums
};
PackedInt8 pack_int8(std::span<const float> weights, int64_t columns, int64_t depth);
/// Zeros up to a multiple of 16.
std::vector<float> padded_columns(std::span<const float> values);

}  // namespace fib::engine
