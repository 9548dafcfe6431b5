// SPDX-License-Identifier: Apache-2.0
// What `fib bench policy` has measured.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/torch/robots/policy_bench.h"

namespace fib::report {

struct PolicyBenchReport {
  std::string machine;
  int64_t threads = 1;
  bench::PolicyBench result;
};

nlohmann::ordered_json policy_bench_json(const PolicyBenchReport& report);
std::string policy_bench_text(const PolicyBenchReport& report);

}  // namespace fib::report
