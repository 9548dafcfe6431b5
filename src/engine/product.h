// SPDX-License-Identifier: Apache-2.0
// Linear layers: out [M,N] = tail(x [M,K] · W), with weights that were packed when the model was compiled.
//
// Letters: M rows (tokens), N columns (output channels), K depth (input channels). W lies in panels of 16 columns:
// float32 and bfloat16 as [N/16, K, 16], int8 as [N/16, K/2, 16, 2], zeros where N or K do not fill. All targets read
// this one layout in place, so a mapped file needs no preparation. Results are bitwise equal for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fib::engine {

inline constexpr int64_t kPanelColumns = 16;
inline constexpr int64_t panels_of(int64_t columns) { return (columns + kPanelColumns - 1) / kPanelColumns; }
/// Rows of int8 products are read two values at a time.
inline constexpr int64_t paired_depth(int64_t depth) { return (depth + 1) / 2 * 2; }

/// The largest quantized activation. Sixteen-bit products, the fastest exact ones where there is no VNNI, cost the same
/// for ten bits as for seven; the bound keeps every sum within 32 bits.
int32_t activation_limit(int64_t depth);

/// The largest depth of an int8 product.
inline constexpr int64_t kMaxInt8Depth = 65536;

enum class Activation { none, gelu, relu };

/// What happens to a sum before it is written, in this order.
struct Tail {
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
  Tail tail;
};

/// The upper half of a float32's bits.
using Bfloat16 = uint16_t;

/// Sums in float32, whatever the weights are stored as.
template <class Weight>
struct FloatSums : Product {
  const float* x = nullptr;
  int64_t x_stride = 0;
  const Weight* weights = nullptr;  ///< packed
};
using FloatProduct = FloatSums<float>;
using Bfloat16Product = FloatSums<Bfloat16>;

struct Int8Product : Product {
  const int16_t* x = nullptr;  ///< quantized, from one row to the next paired_depth(K)
  const float* row_scale = nullptr;
  const int8_t* weights = nullptr;      ///< packed
  const float* column_scale = nullptr;  ///< [panels · 16]
};

/// In parallel.
void run_product(const FloatProduct& product);
void run_product(const Bfloat16Product& product);
void run_product(const Int8Product& product);

/// Rows of x as integers, largest absolute value to activation_limit, and by what they are to be multiplied.
struct RowQuantizer {
  const float* x;
  int64_t x_stride, rows, depth;
  int16_t* quantized;  ///< [rows, paired_depth]
  float* scale;        ///< [rows]
};
void quantize_rows(const RowQuantizer& quantizer);

// ---- Packing, when a model is compiled
// -------------------------------------------------------------------------------

/// weights [N,K], as torch stores a linear layer.
std::vector<float> pack_weights(std::span<const float> weights, int64_t columns, int64_t depth);
/// The same, rounded to the nearest; of two that are as near, the even one.
std::vector<Bfloat16> pack_bfloat16(std::span<const float> weights, int64_t columns, int64_t depth);
struct PackedInt8 {
  std::vector<int8_t> weights;
  std::vector<float> column_scale;  ///< [panels · 16]
};
PackedInt8 pack_int8(std::span<const float> weights, int64_t columns, int64_t depth);
/// Zeros up to a multiple of 16.
std::vector<float> padded_columns(std::span<const float> values);

}  // namespace fib::engine
