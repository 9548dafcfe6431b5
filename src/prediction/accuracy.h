// SPDX-License-Identifier: Apache-2.0
// How well a classifier does on labelled images: accuracy, loss, confusion, the worst mistakes.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/loader.h"
#include "prediction/predictor.h"

namespace fib::prediction {

struct Accuracy {
  int64_t images = 0;
  double top1 = 0;  ///< shares in [0, 1]
  double top5 = 0;
  double loss = 0;  ///< mean cross-entropy with the labels themselves
  double seconds = 0;

  double images_per_second() const { return seconds > 0 ? static_cast<double>(images) / seconds : 0; }
};

/// Images, top-1 hits, top-5 hits, sum of losses: sums over batches and, added up, over processes.
struct AccuracySums {
  std::array<double, 4> values{};

  /// Of equal logits the lower class comes first.
  void add(std::span<const float> logits, int64_t label);
  int64_t images() const { return static_cast<int64_t>(values[0]); }
  Accuracy result(double seconds) const;
};

/// Each batch of an evaluation, and its logits [B,classes].
using LogitsSeen = std::function<void(Batch& batch, std::span<const float> logits)>;

/// Every batch of a loader, in its order; one without images has no logits.
void for_each_logits(Predictor& predictor, const Loader& loader, const LogitsSeen& seen);

struct AccuracyHooks {
  std::function<void(int64_t done)> done = {};  ///< after each batch, with the images so far; may throw
  LogitsSeen seen = {};
  std::function<void(std::span<double>)> sum_over_processes = {};
};
Accuracy measure_accuracy(Predictor& predictor, const Loader& loader, const AccuracyHooks& hooks = {});

struct Prediction {
  size_t index = 0;  ///< in the dataset
  int64_t truth = 0, predicted = 0;
  double probability = 0;  ///< given to `predicted`
};

std::vector<Prediction> predict_over(Predictor& predictor, const Loader& loader);

/// Counts [truth][predicted].
std::vector<std::vector<int64_t>> confusion(const std::vector<Prediction>& predictions, int64_t classes);

/// The wrong answers given with the most certainty, at most `count`; the lower index first among equals.
std::vector<Prediction> worst_mistakes(const std::vector<Prediction>& predictions, size_t count);

/// Throws std::runtime_error where the data has a class that the model does not know.
void check_labels(const Dataset& dataset, int64_t classes);
/// Throws std::invalid_argument where a model takes clips and the data has images, or the other way round.
void check_takes(const std::string& model, bool takes_clips, const DatasetInfo& data);

/// Batches of a dataset in its order, prepared for a view.
Loader loader_in_order(const DatasetPtr& images, const PipelineConfig& view, int64_t batch);

}  // namespace fib::prediction
