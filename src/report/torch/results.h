// SPDX-License-Identifier: Apache-2.0
// What commands that compute with LibTorch say of their results: JSON, text, a plot.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/torch/attention_bench.h"
#include "bench/torch/model_bench.h"
#include "kernels/machine.h"
#include "report/plot.h"
#include "training/run/summary.h"
#include "training/torch/pruning.h"
#include "training/torch/rate_search.h"

namespace fib::report {

// ---- fib bench attention, fib bench data

struct BenchReport {
  std::string machine;
  int64_t threads = 1;
  bench::AttentionBenchOptions options;
  double operator_overhead_us = 0.0;
  double peak_gflops = 0.0;
  ReadRates read_rates{};
  std::vector<bench::AttentionBenchRow> rows;
  std::vector<bench::BreakEven> break_even = {};
  std::optional<double> load = load_average();  ///< before the benchmark made its own
};

nlohmann::ordered_json bench_json(const BenchReport& report);
std::string bench_text(const BenchReport& report);
/// Time and memory against N, log-log.
LinePlot bench_plot(const BenchReport& report);

/// A recipe's loader beside the steps that it feeds.
struct DataBenchReport {
  std::string machine;
  int64_t threads = 1;
  const training::Recipe& recipe;
  bench::DataBench bench;
};

nlohmann::ordered_json data_bench_json(const DataBenchReport& report);
std::string data_bench_text(const DataBenchReport& report);

// ---- fib train, fib prune

nlohmann::ordered_json rate_search_json(const training::RateSearch& search);
std::string rate_search_text(const training::RateSearch& search);
/// Loss over learning rate.
LinePlot rate_search_plot(const training::RateSearch& search);

std::string summary_text(const training::Summary& summary);
std::string pruning_text(const training::PruningResult& result);

}  // namespace fib::report
