// SPDX-License-Identifier: Apache-2.0
// `fib bench model`: one backbone with one attention and another, timed in turn in one run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/options.h"
#include "bench/torch/step_profile.h"

namespace fib::bench {

/// As it is reported: "forward" or "training step".
const char* to_string(ModelPass pass);

struct ModelBenchRow {
  std::string model, attention;
  int64_t resolution = 0, tokens = 0, batch = 0;
  ModelPass pass = ModelPass::forward;
  std::optional<double> ms, ms_median, images_per_second, speedup_over_full;
  std::optional<double> peak_memory_mb;  ///< parameters, activations and, in training, gradients, optimizer and average
  std::string reason;                    ///< why there is no time
  std::optional<StepProfile> profile;    ///< of a training step, where asked for
};

/// What is being done, and how much of it, from 0 to 1.
using ModelBenchProgress = std::function<void(const std::string&, double)>;

/// Throws std::invalid_argument before anything runs if a model, resolution or attention does not fit.
std::vector<ModelBenchRow> bench_model(const ModelBenchOptions& options, const ModelBenchProgress& progress = {});

}  // namespace fib::bench
