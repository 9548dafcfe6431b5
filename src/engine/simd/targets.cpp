// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/simd/targets.cpp"
#include "kernels/simd/dispatch.h"
//

#include "engine/simd/amx-inl.h"
#include "engine/simd/convert-inl.h"
#include "engine/simd/low_precision-inl.h"
#include "engine/simd/matrix_arm-inl.h"
#include "engine/simd/product-inl.h"
#include "engine/simd/rows-inl.h"
#include "engine/simd_table.h"

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
#define FIB_MATRIX_INT8 \
  { kernels::kAmxInt8, RowFormat::bytes, 2 * kTileRows, AmxInt8::kDepth, amx_tile<AmxInt8> }
#define FIB_MATRIX_BFLOAT16 \
  { kernels::kAmxBf16, RowFormat::bfloat16, 2 * kTileRows, AmxBfloat16::kDepth, amx_tile<AmxBfloat16> }
#define FIB_BFLOAT16_PAIRS \
  { kernels::kAvx512Bf16, RowFormat::bfloat16, Bfloat16Pairs::kRows, 1, unit_tile<Bfloat16Pairs> }
#else
#if defined(__aarch64__) && HWY_TARGET == HWY_NEON
#define FIB_MATRIX_INT8 \
  { MatrixBytes::kNeeds, RowFormat::bytes, kMatrixRows, 2 * MatrixBytes::kDepth, matrix_tile<MatrixBytes> }
#define FIB_MATRIX_BFLOAT16 \
  { MatrixBfloat16::kNeeds, RowFormat::bfloat16, kMatrixRows, 2 * MatrixBfloat16::kDepth, matrix_tile<MatrixBfloat16> }
#else
#define FIB_MATRIX_INT8 \
  { 0, RowFormat::bytes, 1, 1, nullptr }
#define FIB_MATRIX_BFLOAT16 \
  { 0, RowFormat::bfloat16, 1, 1, nullptr }
#endif
#define FIB_BFLOAT16_PAIRS \
  { 0, RowFormat::bfloat16, 1, 1, nullptr }
#endif
#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || (defined(__aarch64__) && HWY_TARGET == HWY_NEON)
#define FIB_BYTES \
  { Bytes::kNeeds, RowFormat::bytes, Bytes::kRows, 1, unit_tile<Bytes> }
#else
#define FIB_BYTES \
  { 0, RowFormat::bytes, 1, 1, nullptr }
#endif

const SimdTable& table_of_target() {
  static constexpr SimdTable table{
      {0, RowFormat::float32, kRows, 1, float_tile},
      {FIB_MATRIX_BFLOAT16, FIB_BFLOAT16_PAIRS, {0, RowFormat::float32, kRows, 1, widened_tile}},
      {FIB_MATRIX_INT8, FIB_BYTES, {0, RowFormat::words, kWordRows, 1, word_tile}},
      {convert<Bfloat16Writer>, convert<WordWriter>, convert<ByteWriter>},
      layer_norm_rows};
  return table;
}
#undef FIB_MATRIX_INT8
#undef FIB_MATRIX_BFLOAT16
#undef FIB_BFLOAT16_PAIRS
#undef FIB_BYTES

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/tiles.h"

namespace fib::engine {

HWY_EXPORT(table_of_target);

const SimdTable& simd_table() {
  return kernels::choose_target(HWY_DISPATCH_TABLE(table_of_target), kernels::chosen_target())();
}

}  // namespace fib::engine
#endif
