// SPDX-License-Identifier: Apache-2.0
// What computes here, and what it can compute at most: the ceiling that figures of speed are read against.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace fib {

/// What computes here: "Intel Xeon …, 2 cores, AVX3 with amx, vnni, bf16".
std::string machine_name();
/// The same for people: what Highway calls AVX3, AVX3_DL, AVX3_ZEN4 or AVX3_SPR is AVX-512.
std::string machine_text(std::string machine);

/// Processes that wanted a core in the last minute, on average; nothing where Linux does not tell.
std::optional<double> load_average();

/// GFLOP/s of float32 multiply-adds between registers, on all threads that parallel_tasks has. Takes a tenth of a
/// second.
double peak_gflops();

/// The same of bfloat16, and of bytes in GOP/s, by the best instructions in use for them (kernels/extensions.h):
/// without such, bfloat16 is multiplied as float32 and bytes as sixteen bits.
double peak_bfloat16_gflops();
double peak_int8_gops();

/// GB/s that all these threads read together, each from an array that half fills a cache of its core.
struct ReadRates {
  double first, second;
};

/// What the caches give when lines are read one after another; takes two tenths of a second.
ReadRates read_rates();

namespace kernels {

/// The least time of a task that every thread runs at once. Threads are awake: one that is still to be woken would find
/// that the others have done its share. It is tried for a tenth of a second: the first tries find the processor at a
/// lower clock, and at times two threads on one core.
double least_seconds(int64_t threads, const std::function<void(int64_t)>& task);

/// `rounds` of multiply-adds that depend on nothing but themselves; gives how many numbers were multiplied.
using MultiplyFunction = int64_t (*)(int64_t rounds);
/// Twelve vectors of the widest target, AVX-512.
inline constexpr int64_t kReadAtOnce = 192;
/// Reads all values, a multiple of kReadAtOnce, that often; gives their sum.
using ReadFunction = float (*)(const float* values, int64_t count, int64_t rounds);

/// A way to multiply numbers of low precision, and the extensions that it needs.
struct PeakWay {
  uint32_t needs;
  MultiplyFunction multiply;
};

struct PeakTable {
  MultiplyFunction multiply;
  ReadFunction read;
  PeakWay bfloat16[3], int8[3];  ///< the best first; null where a target does not have it, but for the last
};
const PeakTable& peak_of_target(int64_t target);

}  // namespace kernels
}  // namespace fib
