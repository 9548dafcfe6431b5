// SPDX-License-Identifier: Apache-2.0
// What a model takes each image for.
#pragma once

#include <vector>

#include "analysis/torch/over_images.h"

namespace fib::analysis {

struct Prediction {
  size_t index = 0;  ///< in the dataset
  int64_t truth = 0, predicted = 0;
  double probability = 0;  ///< given to `predicted`
};

std::vector<Prediction> predict_over(const training::TrainedModel& subject, const DatasetPtr& images,
                                     const ImagesDone& done);

/// Counts [truth][predicted].
std::vector<std::vector<int64_t>> confusion(const std::vector<Prediction>& predictions, int64_t classes);

/// The wrong answers given with the most certainty, at most `count`; the lower index first among equals.
std::vector<Prediction> worst_mistakes(const std::vector<Prediction>& predictions, size_t count);

}  // namespace fib::analysis
