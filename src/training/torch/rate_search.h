// SPDX-License-Identifier: Apache-2.0
// A learning rate for a recipe: steps whose rate grows from very small to too large, and where the loss falls fastest
// (Smith, Cyclical Learning Rates for Training Neural Networks, WACV 2017).
#pragma once

#include <functional>
#include <vector>

#include "training/torch/task.h"

namespace fib::training {

struct RatePoint {
  double lr = 0;
  double loss = 0;      ///< of the step at this rate
  double smoothed = 0;  ///< averaged with its neighbors
};

struct RateSearch {
  std::vector<RatePoint> points;
  double suggested = 0;  ///< where the smoothed loss falls fastest
  double largest = 0;    ///< where it is lowest: beyond it training comes apart
};

struct RateSearchOptions {
  double least = 1e-7, most = 1;
  int64_t steps = 100;
  std::function<void(int64_t done)> progress = {};
  CancelToken cancel = {};
};

/// Ends early where the loss is four times the best, or not finite: larger rates are no better. The experiment's
/// network has changed afterwards.
RateSearch search_rate(const Experiment& experiment, const RateSearchOptions& options);

/// Of losses at growing rates, without their smoothing. Throws std::runtime_error where the loss never falls.
RateSearch suggested_rate(std::vector<RatePoint> points);

}  // namespace fib::training
