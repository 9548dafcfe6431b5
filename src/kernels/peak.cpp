// SPDX-License-Identifier: Apache-2.0
#include "kernels/peak.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "base/caches.h"
#include "base/parallel.h"
#include "base/stopwatch.h"
#include "kernels/tiles.h"
#include "kernels/workspace.h"

namespace fib {
namespace {

/// The least time of a task that every thread runs at once. Threads are awake: one that is still to be woken would find
/// that the others have done its share. It is tried for a while: the first tries find the processor at a lower clock,
/// and at times two threads on one core.
template <class Task>
double least_seconds(int64_t threads, const Task& task) {
  constexpr double kSeconds = 0.1;
  double least = std::numeric_limits<double>::infinity();
  with_awake_threads([&] {
    const Stopwatch all;
    while (all.seconds() < kSeconds) {
      const Stopwatch watch;
      parallel_tasks(threads, task);
      least = std::min(least, watch.seconds());
    }
  });
  return least;
}

/// From an array of so many bytes for each thread, GB/s of all.
double read_rate(int64_t bytes) {
  constexpr int64_t kBytesATry = int64_t{256} << 20;
  const int64_t threads = omp_get_max_threads(), rounds = 1 + kBytesATry / bytes;
  const int64_t count = bytes / static_cast<int64_t>(sizeof(float)) / kernels::kReadAtOnce * kernels::kReadAtOnce;
  const kernels::ReadFunction read = kernels::peak_of_target(kernels::chosen_target()).read;
  std::vector<kernels::Buffer<float>> arrays(static_cast<size_t>(threads));
  for (auto& array : arrays) std::fill_n(array.ensure(static_cast<size_t>(count)), count, 1.0f);
  std::atomic<float> sum{0};
  const double seconds = least_seconds(
      threads, [&](int64_t thread) { sum = read(arrays[static_cast<size_t>(thread)].data(), count, rounds); });
  return 1e-9 * sizeof(float) * static_cast<double>(threads * count * rounds) / seconds;
}

}  // namespace

double peak_gflops() {
  constexpr int64_t kRounds = 500'000;
  const int64_t threads = omp_get_max_threads();
  const kernels::MultiplyFunction multiply = kernels::peak_of_target(kernels::chosen_target()).multiply;
  std::atomic<int64_t> multiplied{0};
  const double seconds = least_seconds(threads, [&](int64_t) { multiplied = multiply(kRounds); });
  return 2e-9 * static_cast<double>(threads * multiplied.load()) / seconds;
}

ReadRates read_rates() { return {read_rate(caches().first / 2), read_rate(caches().second / 2)}; }

}  // namespace fib
