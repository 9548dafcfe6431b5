// SPDX-License-Identifier: Apache-2.0
// Accuracy of a trained model on corrupted images.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/corruption_sets.h"
#include "training/torch/trained_model.h"

namespace fib::analysis {

/// Accuracies as shares.
struct Robustness {
  std::string source;  ///< folder of the published files; empty: made here
  int64_t images = 0;
  double clean = 0;
  std::map<std::string, std::map<int64_t, double>> top1;  ///< by corruption and severity

  double mean_of(const std::string& corruption) const;
  double mean_at(int64_t severity) const;
  double mean() const;
};

/// Called after each set with how many are done and the corruption's name.
using SetsDone = std::function<void(int64_t done, const std::string& corruption)>;

/// Throws std::invalid_argument where labels and model do not fit, std::runtime_error for published files that cannot
/// be read.
Robustness measure_robustness(const training::TrainedModel& subject, const CorruptionSets& sets, const SetsDone& done);

}  // namespace fib::analysis
