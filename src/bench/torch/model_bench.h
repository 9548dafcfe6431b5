// SPDX-License-Identifier: Apache-2.0
// `fib bench model`: one backbone with one attention and another, timed in turn in one run; `fib bench data`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/benchmarks.h"
#include "training/torch/task.h"

namespace fib::bench {

// ---- Where the time of a training step goes: by kind of layer, forward and backward

/// What `linear`, `addmm` or `LayerNormBackward0` belong to; "other" where it is unknown.
std::string kind_of_operator(const std::string& name);

/// Means over `steps` steps, each the two functions one after the other. One profile at a time in a process.
StepProfile profile_steps(int steps, const std::function<void()>& gradients, const std::function<void()>& update);

// ---- fib bench model

/// What is being done, and how much of it, from 0 to 1.
using ModelBenchProgress = std::function<void(const std::string&, double)>;

/// Throws std::invalid_argument before anything runs if a model, resolution or attention does not fit.
std::vector<ModelBenchRow> bench_model(const ModelBenchOptions& options, const ModelBenchProgress& progress = {});

// ---- fib bench data: whether data keeps up with a training run: its loader alone, and the steps that consume what it
// gives

struct DataBench {
  std::string samples = "images";         ///< what they are called
  double loader_images_per_second = 0;    ///< without computing
  double training_images_per_second = 0;  ///< the same batch again and again
  double ratio() const { return loader_images_per_second / training_images_per_second; }
};

/// Spends about `seconds` on each of the two. Throws as training::prepare does.
DataBench bench_data(const training::Recipe& recipe, double seconds,
                     const std::vector<training::TaskRow>& tasks = training::classification_tasks());

}  // namespace fib::bench
