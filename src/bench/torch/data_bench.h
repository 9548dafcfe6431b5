// SPDX-License-Identifier: Apache-2.0
// Whether data keeps up with a training run: its loader alone, and the steps that consume what it gives.
#pragma once

#include "training/torch/task.h"

namespace fib::bench {

struct DataBench {
  std::string samples = "images";         ///< what they are called
  double loader_images_per_second = 0;    ///< nobody computing
  double training_images_per_second = 0;  ///< the same batch again and again
  double ratio() const { return loader_images_per_second / training_images_per_second; }
};

/// Spends about `seconds` on each of the two. Throws as training::prepare does.
DataBench bench_data(const training::Recipe& recipe, double seconds,
                     const std::vector<training::TaskRow>& tasks = training::classification_tasks());

}  // namespace fib::bench
