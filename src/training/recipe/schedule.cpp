// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/schedule.h"

#include <cmath>
#include <numbers>

namespace fib::training {

Schedule Schedule::of(const Recipe& recipe) {
  return {.unit = recipe.schedule == "epoch" ? ScheduleUnit::epoch : ScheduleUnit::step,
          .epochs = static_cast<double>(recipe.epochs),
          .warmup_epochs = recipe.warmup_epochs,
          .peak = recipe.peak_lr(),
          .warmup_from = recipe.warmup_lr,
          .least = recipe.min_lr};
}

double Schedule::cosine(double progress) const {
  return least + 0.5 * (peak - least) * (1 + std::cos(std::numbers::pi * progress));
}

double Schedule::rate(int64_t step, int64_t steps_per_epoch) const {
  double t = static_cast<double>(step) / static_cast<double>(steps_per_epoch);
  if (unit == ScheduleUnit::epoch) t = std::floor(t);
  if (t < warmup_epochs) return warmup_from + t * (peak - warmup_from) / warmup_epochs;
  if (unit == ScheduleUnit::epoch) return cosine(t / epochs);
  return cosine((t - warmup_epochs) / (epochs - warmup_epochs));
}

}  // namespace fib::training
