// SPDX-License-Identifier: Apache-2.0
#include "sequences/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace fib::sequences {

int32_t draw_symbol(std::span<const float> logits, const SamplingOptions& options, CounterRng& rng) {
  if (!std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); }))
    throw std::runtime_error("the model's logits are no numbers, or infinite");
  // By logit, of equals the first: so that a draw depends on nothing else.
  const auto before = [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), before);
  if (options.temperature == 0) return order.front();
  if (options.top_k > 0) order.resize(std::min(order.size(), static_cast<size_t>(options.top_k)));
  std::vector<double> sums;
  double sum = 0;
  const auto largest = static_cast<double>(logits[static_cast<size_t>(order.front())]);
  for (const int32_t symbol : order) {
    sum += std::exp((static_cast<double>(logits[static_cast<size_t>(symbol)]) - largest) / options.temperature);
    sums.push_back(sum);
  }
  const auto drawn = std::upper_bound(sums.begin(), sums.end(), rng.uniform() * sum) - sums.begin();
  return order[std::min(static_cast<size_t>(drawn), order.size() - 1)];
}

}  // namespace fib::sequences
