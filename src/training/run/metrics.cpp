// SPDX-License-Identifier: Apache-2.0
#include "training/run/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "training/run/evaluation_clock.h"

namespace fib::training {

MetricStyle metric_style(std::string_view name) {
  struct Row {
    std::string_view name;
    MetricStyle style;
  };
  static const std::vector<Row> rows = {
      {"agreement", {"agreement", true}},     {"top1", {"top-1", true}},
      {"top5", {"top-5", true, false}},       {"score", {"score"}},
      {"loss", {"loss", false, true, false}},
  };
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found != rows.end() ? found->style : MetricStyle{std::string(name)};
}

std::string metric_text(const Metric& metric) {
  return metric_style(metric.name).percent ? fmt::format("{:.2f} %", 100 * metric.value)
                                           : fmt::format("{:.4f}", metric.value);
}

double Evaluation::value(std::string_view name) const {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  if (found == metrics.end()) throw std::out_of_range(fmt::format("the evaluation has no metric '{}'", name));
  return found->value;
}

void EvaluationClock::advance(int64_t done, double seconds) {
  if (done <= last_done_) last_done_ = 0;  // another evaluation has begun
  if (done > last_done_) {
    taken_ += seconds - last_seconds_;
    samples_ += done - last_done_;
    to_come_ -= done - last_done_;
  }
  last_done_ = done;
  last_seconds_ = seconds;
}

double EvaluationClock::to_come(double training_seconds_each) const {
  const double each = samples_ > 0 ? taken_ / static_cast<double>(samples_) : training_seconds_each / 3;
  return each * static_cast<double>(std::max<int64_t>(0, to_come_));
}

}  // namespace fib::training
