// SPDX-License-Identifier: Apache-2.0
// The runs of a plan that are still to be made: as jobs, and what they cost.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "analysis/ablations/plan.h"
#include "training/run/job_pool.h"

namespace fib::ablations {

/// Indices of runs that are missing or, with `resume`, unfinished; each directory once. Throws std::invalid_argument
/// for an unfinished run without `resume`, std::runtime_error where the weights that a run begins from are missing.
std::vector<size_t> left_to_do(const std::vector<Run>& runs, bool resume);

/// What makes a run, which continues one that was interrupted. Writes its recipe beside the run's directory, where
/// people find it, and makes that folder.
training::Job job_of(const Run& run, int64_t threads);

struct StageOptions {
  int64_t width = 1;    ///< runs at once
  int64_t threads = 1;  ///< which they share
  CancelToken cancel = {};
  std::function<void(const Run&run)> started = {}, ended = {};
};

struct StageResult {
  training::PoolOutcome outcome = training::PoolOutcome::finished;
  std::string failure = {};  ///< one line about the first run that failed; empty: none
};

/// Makes the runs that `left` names, one stage after the other, until one fails or it is cancelled. What is known of a
/// run is up to date when `ended` is called.
StageResult run_stages(const Ablation& ablation, std::vector<Run>& runs, std::vector<size_t> left,
                       const StageOptions& options);

/// "row (data, seed 0)", and what it is for where it prepares the row's run.
std::string label_of(const Ablation& ablation, const Run& run);

/// What a table still costs at a scale.
struct Effort {
  size_t runs = 0, finished = 0;
  double seconds = 0;  ///< of what is left, about
  std::set<std::string> missing =
      {};  ///< data that is not here, and how to get it: "cifar10: scripts/get-data.sh cifar10"
};
Effort effort_of(const Ablation& ablation, Request request, Scale scale);

}  // namespace fib::ablations
