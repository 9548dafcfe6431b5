// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fib::kernels {

/// Highway's bit of the target in use: set_simd_target, else FIB_TARGET, else the best.
int64_t chosen_target();

}  // namespace fib::kernels
