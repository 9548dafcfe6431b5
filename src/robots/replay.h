// SPDX-License-Identifier: Apache-2.0
// Recorded actions played again from the recorded first state, and how far the simulator strays from what was recorded.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "robots/demonstrations.h"
#include "robots/pusht.h"

namespace fib::robots {

/// What was seen of an episode, the first time included, and its best reward.
struct Playback {
  std::vector<PushTScene> scenes;
  double score = 0;
};

Playback play_again(const Demonstrations& demonstrations, const Episode& episode);

/// One entry for each step: pixels of the field, radians, and for images the mean of |difference| over all values, of
/// 255.
struct ReplayErrors {
  std::vector<double> agent, block, angle, image;
  double score = 0;
};

/// Episode by episode, on the OpenMP threads; `played` hears of each from whichever thread played it.
std::vector<ReplayErrors> replay_all(const std::filesystem::path& folder, const Demonstrations& demonstrations,
                                     const std::function<void()>& played);

/// Chooses where the agent heads for next.
using Chooser = std::function<Point(const PushTState&)>;

/// An episode from a seed, to its end or 300 steps.
Playback play(uint32_t seed, const Chooser& choose);

}  // namespace fib::robots
