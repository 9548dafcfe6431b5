// SPDX-License-Identifier: Apache-2.0
#include "report/run_comparison.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "report/words.h"

namespace fib::report {
namespace {

std::string judged(const RunRecord& run, const RunRecord& first) {
  const double points = 100 * (run.test_score - first.test_score);
  if (std::abs(points) < 0.05) return "is as good";
  return fmt::format("is {:.1f} points {}", std::abs(points), points > 0 ? "better" : "worse");
}

/// On one machine, as far as is known.
bool both_timed(const RunRecord& run, const RunRecord& first) {
  const bool moved = !run.machine.empty() && !first.machine.empty() && run.machine != first.machine;
  return !moved && run.samples_per_second > 0 && first.samples_per_second > 0;
}

}  // namespace

std::string why_not_comparable(const RunRecord& run, const RunRecord& first) {
  std::vector<std::string> reasons;
  const auto differ = [&](const std::string& what, const std::string& a, const std::string& b) {
    if (a != b) reasons.push_back(fmt::format("another {} ({}, not {})", what, a, b));
  };
  differ("model", run.model, first.model);
  differ("dataset", run.data, first.data);
  differ("number of test " + run.samples, grouped(run.test_samples), grouped(first.test_samples));
  return fmt::format("{}", fmt::join(reasons, ", "));
}

std::string speed_ratio(const RunRecord& run, const RunRecord& first) {
  if (!both_timed(run, first) || !why_not_comparable(run, first).empty()) return "–";
  return fmt::format("{:.1f} ×", run.samples_per_second / first.samples_per_second);
}

std::string comparison(const RunRecord& run, const RunRecord& first) {
  const std::string reason = why_not_comparable(run, first);
  if (!reason.empty()) return fmt::format("{} is not compared with {}: it has {}.", run.name, first.name, reason);
  const std::string speed = both_timed(run, first)
                                ? fmt::format("trains {} as fast as {}", speed_ratio(run, first), first.name)
                                : "was not timed against " + first.name;
  return fmt::format("{} looks at {:.1f} % of the pairs, {} and {} on the test {}.", run.name, 100 * run.pair_share,
                     speed, judged(run, first), run.samples);
}

std::string known_figure(double value, int digits, const std::string& unit) {
  return value > 0 && std::isfinite(value) ? fmt::format("{:.{}f}{}", value, digits, unit) : "–";
}

std::string known_rate(double per_second, const std::string& unit) {
  return known_figure(per_second, per_second < 10 ? 2 : 0, unit);
}

}  // namespace fib::report
