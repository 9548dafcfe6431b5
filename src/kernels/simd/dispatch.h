// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hwy/highway.h>

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
