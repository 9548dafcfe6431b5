// SPDX-License-Identifier: Apache-2.0
// What `fib bench model` says: JSON, a table, a plot.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/torch/model_bench.h"
#include "report/plot.h"

namespace fib::report {

struct ModelBenchReport {
  std::string machine;
  int64_t threads = 1;
  std::vector<bench::ModelBenchRow> rows;
};

nlohmann::ordered_json model_bench_json(const ModelBenchReport& report);
std::string model_bench_text(const ModelBenchReport& report);
/// Time and memory against the resolution, two panels for each pass.
LinePlot model_bench_plot(const ModelBenchReport& report);

}  // namespace fib::report
