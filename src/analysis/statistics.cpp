// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <string>

namespace fib::analysis {

double quantile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(rank));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], rank - std::floor(rank));
}

namespace {

/// The t with student_p(t) = p, by bisection: p falls with t.
double student_quantile(double p, int64_t freedom) {
  double low = 0, high = 1;
  while (student_p(high, freedom) > p) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (student_p(middle, freedom) > p ? low : high) = middle;
  }
  return high;
}

}  // namespace

FiveNumbers five_numbers(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("no values to summarize: the list of images is empty");
  std::sort(values.begin(), values.end());
  FiveNumbers result;
  result.min = values.front();
  result.q1 = quantile(values, 0.25);
  result.median = quantile(values, 0.5);
  result.q3 = quantile(values, 0.75);
  result.max = values.back();
  result.count = static_cast<int64_t>(values.size());
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  return result;
}

double student_p(double t, int64_t freedom) {
  const double theta = std::atan(std::abs(t) / std::sqrt(static_cast<double>(freedom)));
  const double cosine = std::cos(theta);
  const bool odd = freedom % 2 == 1;
  // Abramowitz and Stegun 26.7.3 and 26.7.4.
  double term = odd ? cosine : 1, sum = 0;
  for (int64_t j = 1; j <= freedom / 2; ++j) {
    sum += term;
    const auto m = static_cast<double>(odd ? 2 * j : 2 * j - 1);
    term *= cosine * cosine * m / (m + 1);
  }
  const double inside = std::sin(theta) * sum;
  return 1 - (odd ? 2 / std::numbers::pi * (theta + inside) : inside);
}

Estimate estimate(const std::vector<double>& values) {
  Estimate e;
  e.count = static_cast<int64_t>(values.size());
  if (values.empty()) return e;
  const auto n = static_cast<double>(e.count);
  e.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (e.count < 2) return e;
  double squares = 0;
  for (double v : values) squares += (v - e.mean) * (v - e.mean);
  e.deviation = std::sqrt(squares / (n - 1));
  e.half_width = student_quantile(0.05, e.count - 1) * e.deviation / std::sqrt(n);
  return e;
}

PairedTest paired_t_test(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size() || x.size() < 2)
    throw std::invalid_argument("a paired test needs two or more pairs, got " + std::to_string(x.size()) + " and " +
                                std::to_string(y.size()) + " values");
  std::vector<double> differences(x.size());
  std::transform(x.begin(), x.end(), y.begin(), differences.begin(), std::minus<>());
  const Estimate e = estimate(differences);
  if (e.deviation == 0) return {e.count, e.mean, 1};
  const double t = e.mean / (e.deviation / std::sqrt(static_cast<double>(e.count)));
  return {e.count, e.mean, student_p(t, e.count - 1)};
}

Estimate estimate_over_seeds(const BySeed& values) {
  std::vector<double> list;
  for (const auto& [seed, value] : values) list.push_back(value);
  return estimate(list);
}

std::optional<PairedTest> paired_by_seed(const BySeed& x, const BySeed& y) {
  std::vector<double> ours, theirs;
  for (const auto& [seed, value] : x) {
    const auto other = y.find(seed);
    if (other == y.end()) continue;
    ours.push_back(value);
    theirs.push_back(other->second);
  }
  if (ours.size() < 2) return std::nullopt;
  return paired_t_test(ours, theirs);
}

}  // namespace fib::analysis
