// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/narrow_heads.cpp"
#include "kernels/simd/dispatch.h"
//

#include "kernels/narrow.h"
#include "kernels/simd/narrow_backward-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

template <class Pass>
void run_pass(const SupportCall<float>& call, const NarrowLayout& layout, NarrowHead at, NarrowWorkspace& ws) {
  Pass(call, layout, at, ws).run();
}

const NarrowTable& narrow_heads() {
  static constexpr NarrowTable kTable{run_pass<NarrowForward>, run_pass<NarrowBackward>};
  return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fib::kernels {
HWY_EXPORT(narrow_heads);
FIB_TABLE_OF_TARGET(NarrowTable, narrow_of_target, narrow_heads)
}  // namespace fib::kernels
#endif
