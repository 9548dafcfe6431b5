// SPDX-License-Identifier: Apache-2.0
#include "robots/windows.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/rng.h"

namespace fib::robots {

std::vector<Window> windows_of(std::span<const Episode> episodes, const WindowOptions& options) {
  std::vector<Window> windows;
  for (const Episode& episode : episodes) {
    const int64_t last = episode.end - options.horizon + options.pad_after;
    for (int64_t start = episode.begin - options.pad_before; start <= last; ++start)
      windows.push_back({episode, start});
  }
  return windows;
}

EpisodeSplit split_episodes(int64_t episodes, const SplitOptions& options) {
  if (episodes < 2)
    throw std::invalid_argument(fmt::format("{} episodes cannot be split; accepted: at least 2", episodes));
  std::vector<int64_t> order(static_cast<size_t>(episodes));
  std::iota(order.begin(), order.end(), 0);
  CounterRng rng(options.seed, {static_cast<uint64_t>(RandomUse::split)});
  shuffle(order, rng);
  const auto wanted = static_cast<int64_t>(std::nearbyint(static_cast<double>(episodes) * options.validation_share));
  const int64_t validation = std::clamp<int64_t>(wanted, 1, episodes - 1);
  const int64_t training = std::min(episodes - validation, options.max_training);
  EpisodeSplit split;
  split.validation.assign(order.begin(), order.begin() + validation);
  split.training.assign(order.begin() + validation, order.begin() + validation + training);
  std::sort(split.validation.begin(), split.validation.end());
  std::sort(split.training.begin(), split.training.end());
  return split;
}

}  // namespace fib::robots
