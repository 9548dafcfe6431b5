// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/targets_config.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/simd/products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/simd/product-inl.h"
#include "engine/simd/product_tile.h"

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {

const ProductTable& products() {
  static constexpr ProductTable table{kRows, float_tile, int8_tile, quantize};
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/simd/dispatch.h"

namespace fib::engine {

HWY_EXPORT(products);

const ProductTable& products_of_target(int64_t target) {
  return kernels::choose_target(HWY_DISPATCH_TABLE(products), target)();
}

}  // namespace fib::engine
#endif
