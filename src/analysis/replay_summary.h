// SPDX-License-Identifier: Apache-2.0
// How far a simulator strays from recorded demonstrations, over all of their steps.
#pragma once

#include <cstdint>
#include <vector>

#include "robots/pusht.h"

namespace fib::analysis {

struct ErrorSpread {
  double mean = 0, median = 0, p90 = 0, p99 = 0, max = 0;
};

struct ReplaySummary {
  int64_t episodes = 0, steps = 0;
  ErrorSpread agent, block, angle, image;
  int64_t worst_episode = 0, worst_step = 0;  ///< the image that differs most
  double mean_score = 0;
};

/// Throws std::runtime_error where there is no step to compare.
ReplaySummary summarize_replay(const std::vector<robots::ReplayErrors>& episodes);

}  // namespace fib::analysis
