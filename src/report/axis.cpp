// SPDX-License-Identifier: Apache-2.0
#include "report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text.h"

namespace fib::report {
namespace {

constexpr double kSteps = 5;          // about as many ticks as are read at a glance
constexpr double kAxisMargin = 0.04;  // of the range, where an axis does not end at a tick
constexpr size_t kMostTicks = 8;      // more would run into each other

/// 1, 2 or 5 times a power of ten, at least `least`.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

/// As many decimals as tell neighbours `step` apart.
std::string tick_text(double value, double step) {
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  const double rounded = std::abs(value) < step * 1e-6 ? 0 : value;
  if (decimals > 0) return fmt::format("{:.{}f}", rounded, decimals);
  return std::abs(rounded) < 1e15 ? grouped(std::llround(rounded)) : fmt::format("{:g}", rounded);
}

std::vector<double> shown(const std::vector<double>& values, bool log) {
  std::vector<double> kept;
  std::copy_if(values.begin(), values.end(), std::back_inserter(kept),
               [&](double v) { return std::isfinite(v) && (!log || v > 0); });
  return kept;
}

std::vector<double> distinct(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

Axis::Axis(const std::vector<double>& values, const AxisOptions& options) : log_(options.log) {
  std::vector<double> kept = shown(values, log_);
  if (options.from_zero && !log_) kept.push_back(0);
  if (kept.empty()) kept = {1};
  const auto [least, most] = std::minmax_element(kept.begin(), kept.end());
  if (log_) {
    choose_log(*least, *most);
  } else {
    choose_linear(*least, *most, options);
  }
  const std::vector<double> wanted = distinct(shown(options.ticks, log_));
  if (wanted.empty() || wanted.size() > kMostTicks) return;
  ticks_.clear();
  for (double v : wanted) ticks_.push_back({v, v == std::floor(v) ? tick_text(v, 1) : fmt::format("{:g}", v)});
}

void Axis::choose_linear(double least, double most, const AxisOptions& options) {
  if (most - least < 1e-9 * std::max(std::abs(least), std::abs(most)) || most == least) {
    const double room = least == 0 ? 1 : 0.05 * std::abs(least);
    most += room;
    if (!options.from_zero) least -= room;
  }
  double step = round_step((most - least) / kSteps);
  if (options.whole) step = std::max(1.0, step);
  const double margin = kAxisMargin * (most - least);
  begin_ = options.from_zero && least == 0 ? 0 : least - margin;
  end_ = most + margin;
  // In steps counted by integers, so that rounding does not add up.
  for (double k = std::ceil(begin_ / step - 1e-9); k * step <= end_ * (1 + 1e-12); ++k)
    ticks_.push_back({k * step, tick_text(k * step, step)});
}

void Axis::choose_log(double least, double most) {
  constexpr double kRoom = 1.25;
  begin_ = std::log10(least / kRoom);
  end_ = std::log10(most * kRoom);
  const bool decades_only = end_ - begin_ > 3;
  const int last_decade = static_cast<int>(std::floor(end_));
  for (int decade = static_cast<int>(std::floor(begin_)); decade <= last_decade; ++decade) {
    for (double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, decade);
      if ((decades_only && factor > 1) || std::log10(value) < begin_ || std::log10(value) > end_) continue;
      ticks_.push_back({value, value >= 1 ? tick_text(value, 1) : fmt::format("{:g}", value)});
    }
  }
}

double Axis::place(double value) const { return ((log_ ? std::log10(value) : value) - begin_) / (end_ - begin_); }

}  // namespace fib::report
