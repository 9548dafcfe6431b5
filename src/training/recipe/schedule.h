// SPDX-License-Identifier: Apache-2.0
// What is a function of the step: the learning rate, and the decay of the averaged weights. Each way is a row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/recipe/recipe.h"

namespace fib::training {

/// Linear warm-up, then what a row says.
struct Schedule {
  std::string name = "step";  ///< of a row
  double epochs = 100;
  double warmup_epochs = 5;
  double peak = 1e-3;
  double warmup_from = 1e-6;
  double least = 1e-5;
  std::vector<double> milestones = {};  ///< epochs at which the rate is multiplied by gamma
  double gamma = 0.1;

  static Schedule of(const Recipe& recipe);

  /// For a step counted from 0.
  double rate(int64_t step, int64_t steps_per_epoch) const;
};

/// epoch: timm's, constant within an epoch t, and its cosine runs from epoch 0 although warm-up hides its beginning.
/// step: t is a fraction, and the cosine begins where warm-up ends. milestones: the peak times gamma for each passed.
const std::vector<std::string>& schedule_names();

struct AverageSchedule {
  std::string name = "warmup";  ///< of a row
  double most = 0.999;          ///< largest decay; 0: no average is kept
  double power = 0.75;

  static AverageSchedule of(const Recipe& recipe);

  /// Of the update after step n, counted from 1.
  double decay(int64_t step) const;
};

/// warmup: at most (1 + n) / (10 + n), so that a short run's average forgets where it began. power: at most
/// 1 - (n - 1)^-power, and 0 for the first two updates, as diffusion policies do it. constant: always the most.
const std::vector<std::string>& average_names();

}  // namespace fib::training
