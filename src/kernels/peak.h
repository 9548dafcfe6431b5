// SPDX-License-Identifier: Apache-2.0
// What the processor can compute at most: the ceiling that figures of speed are read against.
#pragma once

#include <cstdint>

namespace fib {

/// GFLOP/s of float32 multiply-adds between registers, on all threads that parallel_tasks has. Takes a tenth of a
/// second.
double peak_gflops();

/// GB/s that all these threads read together, each from an array that half fills a cache of its core.
struct ReadRates {
  double first, second;
};

/// What the caches give when lines are read one after another; takes two tenths of a second.
ReadRates read_rates();

namespace kernels {

/// `rounds` of multiply-adds that depend on nothing but themselves; gives how many numbers were multiplied.
using MultiplyFunction = int64_t (*)(int64_t rounds);
/// Twelve vectors of the widest target, AVX-512.
inline constexpr int64_t kReadAtOnce = 192;
/// Reads all values, a multiple of kReadAtOnce, that often; gives their sum.
using ReadFunction = float (*)(const float* values, int64_t count, int64_t rounds);

struct PeakTable {
  MultiplyFunction multiply;
  ReadFunction read;
};
const PeakTable& peak_of_target(int64_t target);

}  // namespace kernels
}  // namespace fib
