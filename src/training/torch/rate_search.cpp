// SPDX-License-Identifier: Apache-2.0
#include "training/torch/rate_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "training/torch/training_step.h"

namespace fib::training {
namespace {

constexpr int64_t kAround = 5;  ///< losses to each side that are averaged; those of single batches say little
constexpr double kComesApart = 4;

/// Batches of one epoch after the other.
class EndlessStream {
 public:
  explicit EndlessStream(Task& task) : task_(task) {}

  TaskBatch next() {
    std::optional<TaskBatch> batch;
    if (stream_) batch = stream_->next();
    if (batch) return *std::move(batch);
    stream_ = task_.epoch(epoch_++, 0);
    batch = stream_->next();
    if (!batch) throw std::runtime_error("an epoch has no batch: lower --batch or give more data");
    return *std::move(batch);
  }

 private:
  Task& task_;
  std::unique_ptr<TaskStream> stream_ = nullptr;
  int64_t epoch_ = 0;
};

void smooth(std::vector<RatePoint>& points) {
  const auto count = static_cast<int64_t>(points.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = std::max<int64_t>(0, i - kAround), end = std::min(count, i + kAround + 1);
    double sum = 0;
    for (int64_t k = begin; k < end; ++k) sum += points[static_cast<size_t>(k)].loss;
    points[static_cast<size_t>(i)].smoothed = sum / static_cast<double>(end - begin);
  }
}

}  // namespace

RateSearch suggested_rate(std::vector<RatePoint> points) {
  smooth(points);
  const auto lowest = std::ranges::min_element(points, {}, &RatePoint::smoothed);
  double steepest = 0;
  RateSearch found;
  // Over as many steps as are averaged: between neighbors the noise is steeper than the curve.
  for (auto point = points.begin(); lowest - point > 2 * kAround; ++point) {
    const double fall = point->smoothed - (point + 2 * kAround)->smoothed;
    if (fall > steepest) steepest = fall, found.suggested = (point + kAround)->lr;
  }
  if (found.suggested == 0)
    throw std::runtime_error("the loss fell at no learning rate: is the data what it should be?");
  found.largest = lowest->lr;
  found.points = std::move(points);
  return found;
}

RateSearch search_rate(const Experiment& experiment, const RateSearchOptions& options) {
  ProcessGroup alone;
  TrainingStep step(*experiment.task, experiment.hook.get(), experiment.recipe, alone);
  experiment.task->train();
  EndlessStream stream(*experiment.task);
  std::vector<RatePoint> points;
  double best = std::numeric_limits<double>::infinity();
  const double growth =
      std::log(options.most / options.least) / static_cast<double>(std::max<int64_t>(1, options.steps - 1));
  for (int64_t i = 0; i < options.steps; ++i) {
    options.cancel.throw_if_requested();
    const double lr = options.least * std::exp(growth * static_cast<double>(i));
    const double loss = step.gradients(stream.next(), i).mean;
    if (!std::isfinite(loss) || loss > kComesApart * best) break;
    best = std::min(best, loss);
    points.push_back({.lr = lr, .loss = loss});
    if (!std::isfinite(step.update(lr))) break;
    if (options.progress) options.progress(i + 1);
  }
  return suggested_rate(std::move(points));
}

}  // namespace fib::training
