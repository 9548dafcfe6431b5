// SPDX-License-Identifier: Apache-2.0
#include "robots/diffusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "base/text.h"

namespace fib::robots {
namespace {

constexpr double kMaxBeta = 0.999, kLeastVariance = 1e-20;

double cosine_alpha_bar(double share) {
  const double c = std::cos((share + 0.008) / 1.008 * std::numbers::pi / 2);
  return c * c;
}

DenoisingStep step_at(const NoiseSchedule& schedule, int64_t t) {
  return {.time = t, .signal = std::sqrt(schedule.alpha_bar(t)), .noise = std::sqrt(1 - schedule.alpha_bar(t))};
}

DenoisingStep ddpm_step(const NoiseSchedule& schedule, int64_t t) {
  const double now = schedule.alpha_bar(t), before = schedule.alpha_bar(t - 1), beta = schedule.beta(t);
  DenoisingStep step = step_at(schedule, t);
  step.clean = std::sqrt(before) * beta / (1 - now);
  step.sample = std::sqrt(1 - beta) * (1 - before) / (1 - now);
  if (t > 0) step.fresh = std::sqrt(std::max((1 - before) / (1 - now) * beta, kLeastVariance));
  return step;
}

}  // namespace

NoiseSchedule::NoiseSchedule(int64_t steps) {
  double product = 1;
  for (int64_t t = 0; t < steps; ++t) {
    const double from = static_cast<double>(t) / static_cast<double>(steps);
    const double to = static_cast<double>(t + 1) / static_cast<double>(steps);
    beta_.push_back(std::min(1 - cosine_alpha_bar(to) / cosine_alpha_bar(from), kMaxBeta));
    alpha_bar_.push_back(product *= 1 - beta_.back());
  }
}

std::vector<DenoisingStep> ddpm_steps(const NoiseSchedule& schedule) {
  std::vector<DenoisingStep> steps;
  for (int64_t t = schedule.steps() - 1; t >= 0; --t) steps.push_back(ddpm_step(schedule, t));
  return steps;
}

std::vector<DenoisingStep> ddim_steps(const NoiseSchedule& schedule, int64_t count) {
  const int64_t stride = schedule.steps() / count;
  std::vector<DenoisingStep> steps;
  for (int64_t i = count - 1; i >= 0; --i) {
    DenoisingStep step = step_at(schedule, i * stride);
    const double before = schedule.alpha_bar(step.time - stride);
    step.clean = std::sqrt(before);
    step.predicted = std::sqrt(1 - before);
    steps.push_back(step);
  }
  return steps;
}

std::vector<DenoisingStep> sampler_steps(std::string_view sampler, const NoiseSchedule& schedule) {
  if (sampler == "ddpm") return ddpm_steps(schedule);
  constexpr std::string_view ddim = "ddim:";
  const auto count = sampler.starts_with(ddim) ? parse_number<int64_t>(sampler.substr(ddim.size())) : std::nullopt;
  if (!count || *count < 1 || *count > schedule.steps()) {
    throw std::invalid_argument(
        fmt::format("sampler '{}': accepted are ddpm and ddim:K with K from 1 to {}", sampler, schedule.steps()));
  }
  return ddim_steps(schedule, *count);
}

}  // namespace fib::robots
