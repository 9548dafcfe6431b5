// SPDX-License-Identifier: Apache-2.0
#include "data/ranked_classes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace fib {

double log_sum_exp(std::span<const float> logits) {
  const double top = static_cast<double>(*std::ranges::max_element(logits));
  double sum = 0;
  for (const float value : logits) sum += std::exp(static_cast<double>(value) - top);
  return top + std::log(sum);
}

std::vector<RankedClass> best_classes(std::span<const float> logits, int64_t count,
                                      const std::vector<std::string>& names) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return logits[i]; });
  order.resize(std::min(order.size(), static_cast<size_t>(count)));
  const double all = log_sum_exp(logits);
  std::vector<RankedClass> top;
  top.reserve(order.size());
  for (const size_t i : order) {
    const auto logit = static_cast<double>(logits[i]);
    top.push_back({static_cast<int64_t>(i), names.empty() ? "" : names[i], std::exp(logit - all), logit});
  }
  return top;
}

}  // namespace fib
