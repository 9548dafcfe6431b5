// SPDX-License-Identifier: Apache-2.0
#include "kernels/peak.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/caches.h"
#include "base/parallel.h"
#include "base/stopwatch.h"
#include "kernels/tiles.h"
#include "kernels/workspace.h"

namespace fib {
namespace {

constexpr int kTries = 10;  // the first ones find the processor at a lower clock

/// From an array of so many bytes for each thread, GB/s of all.
double read_rate(int64_t bytes) {
  constexpr int64_t kBytesATry = int64_t{32} << 20;
  const int64_t threads = omp_get_max_threads(), count = bytes / 4 / kernels::kReadAtOnce * kernels::kReadAtOnce,
                rounds = 1 + kBytesATry / bytes;
  const kernels::ReadFunction read = kernels::peak_of_target(kernels::chosen_target()).read;
  std::vector<kernels::Buffer<float>> arrays(static_cast<size_t>(threads));
  for (auto& array : arrays) std::fill_n(array.ensure(static_cast<size_t>(count)), count, 1.0f);
  std::atomic<float> sum{0};
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const Stopwatch watch;
    parallel_tasks(threads, [&](int64_t t) { sum = read(arrays[static_cast<size_t>(t)].data(), count, rounds); });
    best = std::max(best, 4e-9 * static_cast<double>(threads * count * rounds) / watch.seconds());
  }
  return best;
}

}  // namespace

double peak_gflops() {
  constexpr int64_t kRounds = 200'000;
  const kernels::MultiplyFunction multiply = kernels::peak_of_target(kernels::chosen_target()).multiply;
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    std::atomic<int64_t> multiplied{0};
    const Stopwatch watch;
    parallel_tasks(omp_get_max_threads(), [&](int64_t) { multiplied += multiply(kRounds); });
    best = std::max(best, 2e-9 * static_cast<double>(multiplied.load()) / watch.seconds());
  }
  return best;
}

ReadRates read_rates() { return {read_rate(caches().first / 2), read_rate(caches().second / 2)}; }

}  // namespace fib
