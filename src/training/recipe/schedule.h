// SPDX-License-Identifier: Apache-2.0
// What is a function of the step: the learning rate, and the decay of the averaged weights. Each way is a row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/option_row.h"

namespace fib::training {

struct ScheduleSettings {
  int64_t epochs = 10;
  std::string name = "step";
  double warmup_epochs = 1;
  double warmup_lr = 1e-6;
  double min_lr = 1e-5;
  std::vector<double> milestones;
  double gamma = 0.1;
  int64_t early_stop = 0;

  static OptionRows<ScheduleSettings> rows();
  friend bool operator==(const ScheduleSettings&, const ScheduleSettings&) = default;
};

struct AverageSettings {
  double decay = 0.999;
  std::string rule = "warmup";
  double power = 0.75;

  static OptionRows<AverageSettings> rows();
  friend bool operator==(const AverageSettings&, const AverageSettings&) = default;
};

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

  static Schedule of(const ScheduleSettings& settings, double peak);

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

  static AverageSchedule of(const AverageSettings& settings);

  /// Of the update after step n, counted from 1.
  double decay(int64_t step) const;
};

/// warmup: at most (1 + n) / (10 + n), so that a short run's average forgets where it began. power: at most
/// 1 - (n - 1)^-power, and 0 for the first two updates, as diffusion policies do it. constant: always the most.
const std::vector<std::string>& average_names();

}  // namespace fib::training
