// SPDX-License-Identifier: Apache-2.0
// `fib bench model --engine`: compiled models, each at each of its sizes, timed in turn in one run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/options.h"

namespace fib::bench {

struct EngineBenchRow {
  std::string engine;  ///< the file
  std::string model, attention, precision;
  int64_t resolution = 0;
  double ms = 0, ms_median = 0, images_per_second = 0;
  std::optional<double> memory_mb;  ///< what loading the file and running it once have added to the process
};

std::vector<EngineBenchRow> bench_engines(const std::vector<std::string>& files, int64_t batch,
                                          const TimingOptions& timing);

}  // namespace fib::bench
