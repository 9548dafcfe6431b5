// SPDX-License-Identifier: Apache-2.0
#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace fib::analysis {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(rank));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], rank - std::floor(rank));
}

}  // namespace

FiveNumbers five_numbers(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("no values to summarise: the list of images is empty");
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

}  // namespace fib::analysis
