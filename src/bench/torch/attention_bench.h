// SPDX-License-Identifier: Apache-2.0
// `fib bench attention`: verifies every contestant against the float64 oracle, then times them in turn.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/benchmarks.h"

namespace fib::bench {

struct AttentionBenchRow {
  std::string contestant;
  std::string pass;  ///< "forward" or "forward+backward"
  int64_t batch = 1, tokens = 1, heads = 1, dim = 1;
  std::optional<double> ms, ms_median;
  std::optional<double> pairs_per_second, gflops, gb_per_second;
  std::optional<double> speedup_over_dense, over_memcpy;
  /// Of what computes the support alone: against the fastest dense contestant, and that over dense pairs / own pairs.
  std::optional<double> speedup_over_fastest_dense, share_of_ideal;
  std::optional<double> max_error;
  std::optional<double> peak_memory_mb;  ///< inputs, outputs, what it holds beside them, and what one run took on top
  std::optional<double> memory_over_tensors;  ///< the same over q, k, v and out alone
  std::string reason;                         ///< why there is no time
};

/// What is being done, and how much of it, from 0 to 1.
using BenchProgress = std::function<void(const std::string&, double)>;

std::vector<AttentionBenchRow> bench_attention(const AttentionBenchOptions& options,
                                               const BenchProgress& progress = {});

/// The smallest number of tokens from which the kernel is faster than every dense contestant.
struct BreakEven {
  std::string pass;
  std::vector<int64_t> tried;     ///< in ascending order, up to the second in a row at which it is faster
  std::optional<int64_t> tokens;  ///< the first of these two; none: it was not up to the largest size asked for
};

/// Of forward and, where the options ask for it, of forward and backward.
std::vector<BreakEven> break_even(const AttentionBenchOptions& options, const BenchProgress& progress = {});

/// Microseconds that the torch operator adds to the bare kernel for one sample of 196 tokens, 12 heads of 64 channels.
double operator_overhead_us();

}  // namespace fib::bench
