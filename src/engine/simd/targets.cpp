// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/targets_config.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/simd/targets.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/simd/product-inl.h"
#include "engine/simd/rows-inl.h"
#include "engine/simd_table.h"

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {

const SimdTable& table_of_target() {
  static constexpr SimdTable table{kRows,       float_tile<float>, float_tile<Bfloat16>,
                                   int8_tile,   quantize,          layer_norm_rows,
                                   softmax_row, gelu_row,          sigmoid_row};
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/simd/dispatch.h"
#include "kernels/tiles.h"

namespace fib::engine {

HWY_EXPORT(table_of_target);

const SimdTable& simd_table() {
  return kernels::choose_target(HWY_DISPATCH_TABLE(table_of_target), kernels::chosen_target())();
}

}  // namespace fib::engine
#endif
