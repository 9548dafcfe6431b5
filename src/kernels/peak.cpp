// SPDX-License-Identifier: Apache-2.0
#include "kernels/peak.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

#include "base/parallel.h"
#include "base/stopwatch.h"
#include "kernels/tiles.h"

namespace fib {

double peak_gflops() {
  constexpr int64_t kRounds = 200'000;
  constexpr int kTries = 10;  // the first ones find the processor at a lower clock
  const kernels::PeakFunction loop = kernels::peak_of_target(kernels::chosen_target());
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    std::atomic<int64_t> multiplied{0};
    const Stopwatch watch;
    parallel_tasks(omp_get_max_threads(), [&](int64_t) { multiplied += loop(kRounds); });
    best = std::max(best, 2e-9 * static_cast<double>(multiplied.load()) / watch.seconds());
  }
  return best;
}

}  // namespace fib
