// SPDX-License-Identifier: Apache-2.0
// What a policy learns from: windows of consecutive rows. An episode's first and last rows are repeated beyond its
// ends, so that its beginning and its end are learned too.
//
//   time          t-1   t   t+1 … t+7   t+8 … t+14
//   observed       x    x
//   predicted      x    x    x  …  x      x  …  x        horizon 16
//   executed            x    x  …  x                     8, then observed again
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "robots/demonstrations.h"

namespace fib::robots {

struct WindowOptions {
  int64_t horizon = 16;
  int64_t pad_before = 1;  ///< observations − 1
  int64_t pad_after = 7;   ///< executed actions − 1
};

struct Window {
  Episode episode;
  int64_t start = 0;  ///< row of the first element, possibly before the episode

  /// The recording's row of element k.
  int64_t row(int64_t k) const { return std::clamp(start + k, episode.begin, episode.end - 1); }
};

std::vector<Window> windows_of(std::span<const Episode> episodes, const WindowOptions& options);

struct SplitOptions {
  double validation_share = 0.02;
  int64_t max_training = 90;  ///< episodes
  uint64_t seed = 42;
};

/// Indices of episodes, ascending.
struct EpisodeSplit {
  std::vector<int64_t> training, validation;
};

/// At least one episode each; throws std::invalid_argument for fewer than two.
EpisodeSplit split_episodes(int64_t episodes, const SplitOptions& options);

}  // namespace fib::robots
