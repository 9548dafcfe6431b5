// SPDX-License-Identifier: Apache-2.0
// The runs of a plan that are still to be made: as jobs, and what they cost.
#pragma once

#include <string>
#include <vector>

#include "analysis/ablations/plan.h"
#include "training/run/job_pool.h"

namespace fib::ablations {

/// Indices of runs that are missing or, with `resume`, unfinished; each directory once. Throws std::invalid_argument
/// for an unfinished run without `resume`.
std::vector<size_t> left_to_do(const std::vector<Run>& runs, bool resume);

/// What makes a run, which continues one that was interrupted. Writes its recipe beside the run's directory, where
/// people find it, and makes that folder.
training::Job job_of(const Run& run, int64_t threads);

/// "row (data, seed 0)", and what it is for where it prepares the row's run.
std::string label_of(const Ablation& ablation, const Run& run);

/// What a table still costs at a scale.
struct Effort {
  size_t runs = 0, finished = 0;
  double seconds = 0;  ///< of what is left, about
  bool data_present = true;
};
Effort effort_of(const Ablation& ablation, Request request, Scale scale);

}  // namespace fib::ablations
