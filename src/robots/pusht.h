// SPDX-License-Identifier: Apache-2.0
// PushT: a disc pushes a T over the table until it lies on its goal (Chi et al., Diffusion Policy). Physics by
// Chipmunk, which the published environment wraps, so that recorded actions lead to the recorded states.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "robots/demonstrations.h"
#include "robots/pusht_image.h"

namespace fib::robots {

inline constexpr int64_t kPushTMaxSteps = 300;
inline constexpr double kPushTSolved = 0.95;  ///< coverage

struct PushTStep {
  double coverage = 0;
  double reward = 0;  ///< coverage / 0.95, at most 1
  bool done = false;
};

/// The numbers that RandomState(seed) gives, before physics.
PushTState pusht_drawn_state(uint32_t seed);

class PushT {
 public:
  PushT();
  ~PushT();
  PushT(PushT&&) noexcept;
  PushT& operator=(PushT&&) noexcept;

  /// A new episode, as the published tests begin it: the T is placed, then turned about its center of gravity, which
  /// moves its origin; then one physics step separates what overlaps.
  void reset(uint32_t seed);
  /// A new episode from a state that was observed: exactly this pose, everything at rest.
  void start_from(const PushTState& state);

  /// A tenth of a second of the agent heading for the target. Throws std::invalid_argument outside the field.
  PushTStep step(Point target);

  /// The block's angle is not wrapped.
  PushTState state() const;
  /// With the contacts of the last physics step, as an image shows them.
  PushTScene scene() const;

 private:
  struct World;
  std::unique_ptr<World> world_;
};

/// One step of each, side by side on the OpenMP threads.
std::vector<PushTStep> step_all(std::span<PushT> environments, std::span<const Point> targets);

// ---- Recorded actions played again from the recorded first state, and how far the simulator strays from what was
// recorded

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
