// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/tiles_f64.cpp"
#include "kernels/simd/dispatch.h"
//

#include "kernels/simd/backward-inl.h"
#include "kernels/simd/forward-inl.h"
#include "kernels/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

const TileTable<double>& tiles_f64() {
  static const TileTable<double> table{hwy::TargetName(HWY_TARGET), walk_tile<double, ForwardTile<double>>,
                                       walk_tile<double, QueryGradients<double>>,
                                       walk_tile<double, KeyGradients<double>>, average_tiles<double>};
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fib::kernels {
HWY_EXPORT(tiles_f64);
template <>
FIB_TABLE_OF_TARGET(TileTable<double>, tiles_of_target<double>, tiles_f64)
}  // namespace fib::kernels
#endif
