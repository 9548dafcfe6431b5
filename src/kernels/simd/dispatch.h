// SPDX-License-Identifier: Apache-2.0
// What a file that is compiled once for every SIMD target begins with, after naming itself:
//
//   #define HWY_TARGET_INCLUDE "kernels/simd/peak.cpp"
//   #include "kernels/simd/dispatch.h"
//
// and at its end, inside #if HWY_ONCE, FIB_TABLE_OF_TARGET gives the table of its functions that was compiled for a
// target. docs/targets.md tells how the target is chosen.

#include "kernels/simd/targets_config.h"
//
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef FIB_KERNELS_SIMD_DISPATCH_H_
#define FIB_KERNELS_SIMD_DISPATCH_H_

#include <cstddef>
#include <cstdint>

namespace fib::kernels {

/// The entry of one target in a table made by HWY_EXPORT. HWY_DYNAMIC_DISPATCH reads a choice that all users of Highway
/// in the process share; forcing a target there would force it on an image decoder too.
template <class Function, size_t kSize>
Function choose_target(Function const (&table)[kSize], int64_t target) {
  if constexpr (kSize == 1) {
    return table[0];
  } else {
    const int64_t mask = HWY_CHOSEN_TARGET_SHIFT(target) | HWY_CHOSEN_TARGET_MASK_SCALAR;
    return table[hwy::Num0BitsBelowLS1Bit_Nonzero64(static_cast<uint64_t>(mask))];
  }
}

}  // namespace fib::kernels

/// Defines `const Table& declared(int64_t target)` by a function of every target that HWY_EXPORT has named before.
#define FIB_TABLE_OF_TARGET(Table, declared, compiled)                            \
  const Table& declared(int64_t target) {                                         \
    return ::fib::kernels::choose_target(HWY_DISPATCH_TABLE(compiled), target)(); \
  }

#endif  // FIB_KERNELS_SIMD_DISPATCH_H_
