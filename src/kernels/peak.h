// SPDX-License-Identifier: Apache-2.0
// What the processor can compute at most: the ceiling that figures of speed are read against.
#pragma once

#include <cstdint>

namespace fib {

/// GFLOP/s of float32 multiply-adds between registers, on all threads that parallel_tasks has; some milliseconds.
double peak_gflops();

namespace kernels {

/// `rounds` of multiply-adds that depend on nothing but themselves; gives how many numbers were multiplied.
using PeakFunction = int64_t (*)(int64_t rounds);
PeakFunction peak_of_target(int64_t target);

}  // namespace kernels
}  // namespace fib
