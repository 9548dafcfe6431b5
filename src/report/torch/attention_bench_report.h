// SPDX-License-Identifier: Apache-2.0
// What `fib bench attention` says: JSON, a table, a plot.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/torch/attention_bench.h"
#include "kernels/machine.h"
#include "kernels/peak.h"
#include "report/plot.h"

namespace fib::report {

struct BenchReport {
  std::string machine;
  int64_t threads = 1;
  bench::AttentionBenchOptions options;
  double operator_overhead_us = 0.0;
  double peak_gflops = 0.0;
  ReadRates read_rates{};
  std::vector<bench::AttentionBenchRow> rows;
  std::optional<double> load = load_average();  ///< before the benchmark made its own
};

nlohmann::ordered_json bench_json(const BenchReport& report);
std::string bench_text(const BenchReport& report);
/// Time and memory against N, log-log.
LinePlot bench_plot(const BenchReport& report);

}  // namespace fib::report
