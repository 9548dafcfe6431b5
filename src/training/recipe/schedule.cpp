// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "base/nearest.h"

namespace fib::training {
namespace {

/// `t` is in epochs, past the warm-up.
struct ScheduleRow {
  std::string name;
  bool by_epoch;  ///< constant within an epoch
  double (*rate)(const Schedule& s, double t);
};

struct AverageRow {
  std::string name;
  double (*decay)(const AverageSchedule& s, double n);
};

double cosine(const Schedule& s, double progress) {
  return s.least + 0.5 * (s.peak - s.least) * (1 + std::cos(std::numbers::pi * progress));
}

double milestone_rate(const Schedule& s, double t) {
  const auto passed = std::ranges::count_if(s.milestones, [&](double milestone) { return t >= milestone; });
  return s.peak * std::pow(s.gamma, static_cast<double>(passed));
}

const std::vector<ScheduleRow>& schedules() {
  static const std::vector<ScheduleRow> rows = {
      {"epoch", true, [](const Schedule& s, double t) { return cosine(s, t / s.epochs); }},
      {"step", false,
       [](const Schedule& s, double t) { return cosine(s, (t - s.warmup_epochs) / (s.epochs - s.warmup_epochs)); }},
      {"milestones", false, milestone_rate},
  };
  return rows;
}

const std::vector<AverageRow>& averages() {
  static const std::vector<AverageRow> rows = {
      {"warmup", [](const AverageSchedule&, double n) { return (1 + n) / (10 + n); }},
      {"power", [](const AverageSchedule& s, double n) { return n <= 2 ? 0.0 : 1 - std::pow(n - 1, -s.power); }},
      {"constant", [](const AverageSchedule& s, double) { return s.most; }},
  };
  return rows;
}

const ScheduleRow& schedule_row(const std::string& name) {
  return find_named(schedules(), "schedule", name, &ScheduleRow::name);
}

/// A warm-up that a short run has no time for takes a tenth of it, of whole epochs where the rate changes by epoch.
double warmup_of(const ScheduleSettings& settings) {
  const auto epochs = static_cast<double>(settings.epochs);
  if (settings.warmup_epochs < epochs) return settings.warmup_epochs;
  return schedule_row(settings.name).by_epoch ? std::floor(epochs / 10) : epochs / 10;
}

constexpr Interval kEpochs{.least = 1, .most = 1000000};  // whose steps can be counted

}  // namespace

OptionRows<ScheduleSettings> ScheduleSettings::rows() {
  using S = ScheduleSettings;
  return {
      {"epochs", &S::epochs, "times that every training image is seen", kEpochs},
      {"schedule",
       &S::name,
       "how the learning rate falls: a cosine by epoch or by step, or at milestones",
       {},
       schedule_names()},
      {"warmup_epochs", &S::warmup_epochs,
       "number of epochs over which the learning rate first grows, in a straight line; 0 leaves this out",
       kNotNegative},
      {"warmup_lr", &S::warmup_lr, "learning rate at the beginning of the warm-up", kNotNegative},
      {"min_lr", &S::min_lr, "learning rate at the end of the cosine", kNotNegative},
      {"milestones", &S::milestones,
       "with schedule milestones: the epochs at which the learning rate is multiplied by gamma", kNotNegative},
      {"gamma", &S::gamma, "with schedule milestones: the factor of the learning rate at each", kPositive},
      {"early_stop", &S::early_stop, "the run ends after so many evaluations without a better one; 0 trains all epochs",
       kCountOrNone},
  };
}

OptionRows<AverageSettings> AverageSettings::rows() {
  using A = AverageSettings;
  return {
      {"ema", &A::decay, "largest decay of the averaged weights; 0 keeps no average", kRate},
      {"ema_rule",
       &A::rule,
       "how the decay grows to ema: at most (1 + n) / (10 + n) after n steps, at most 1 - (n - 1)^-power, or ema from "
       "the "
       "first step",
       {},
       average_names()},
      {"ema_power", &A::power, "exponent of the rule power", kPositive},
  };
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = names_of(schedules(), &ScheduleRow::name);
  return names;
}

const std::vector<std::string>& average_names() {
  static const std::vector<std::string> names = names_of(averages(), &AverageRow::name);
  return names;
}

Schedule Schedule::of(const ScheduleSettings& settings, double peak) {
  return {.name = settings.name,
          .epochs = static_cast<double>(settings.epochs),
          .warmup_epochs = warmup_of(settings),
          .peak = peak,
          .warmup_from = settings.warmup_lr,
          .least = settings.min_lr,
          .milestones = settings.milestones,
          .gamma = settings.gamma};
}

double Schedule::rate(int64_t step, int64_t steps_per_epoch) const {
  const ScheduleRow& row = schedule_row(name);
  double t = static_cast<double>(step) / static_cast<double>(steps_per_epoch);
  if (row.by_epoch) t = std::floor(t);
  if (t < warmup_epochs) return warmup_from + t * (peak - warmup_from) / warmup_epochs;
  return row.rate(*this, t);
}

AverageSchedule AverageSchedule::of(const AverageSettings& settings) {
  return {.name = settings.rule, .most = settings.decay, .power = settings.power};
}

double AverageSchedule::decay(int64_t step) const {
  return std::min(
      most,
      find_named(averages(), "rule of averages", name, &AverageRow::name).decay(*this, static_cast<double>(step)));
}

}  // namespace fib::training
