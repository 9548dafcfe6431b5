// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/tiles_f32.cpp"
#include "kernels/simd/dispatch.h"
//

#include "kernels/simd/backward-inl.h"
#include "kernels/simd/forward-inl.h"
#include "kernels/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

const TileTable<float>& tiles_f32() {
  static const TileTable<float> table{hwy::TargetName(HWY_TARGET), walk_tile<float, ForwardTile<float>>,
                                      walk_tile<float, QueryGradients<float>>, walk_tile<float, KeyGradients<float>>,
                                      average_tiles<float>};
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fib::kernels {
HWY_EXPORT(tiles_f32);
template <>
FIB_TABLE_OF_TARGET(TileTable<float>, tiles_of_target<float>, tiles_f32)
}  // namespace fib::kernels
#endif
