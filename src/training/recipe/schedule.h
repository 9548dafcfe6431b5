// SPDX-License-Identifier: Apache-2.0
// The learning rate: linear warm-up, then half a cosine.
#pragma once

#include <cstdint>

#include "training/recipe/recipe.h"

namespace fib::training {

enum class ScheduleUnit { epoch, step };

struct Schedule {
  ScheduleUnit unit = ScheduleUnit::step;
  double epochs = 100;
  double warmup_epochs = 5;
  double peak = 1e-3;
  double warmup_from = 1e-6;
  double least = 1e-5;

  static Schedule of(const Recipe& recipe);

  /// For a step counted from 0. By epoch, as timm does it: constant within an epoch t, and the cosine runs from epoch 0
  /// although warm-up hides its beginning. By step: t is a fraction, and the cosine begins where warm-up ends.
  double rate(int64_t step, int64_t steps_per_epoch) const;

 private:
  double cosine(double progress) const;
};

}  // namespace fib::training
