// SPDX-License-Identifier: Apache-2.0
// PushT: a disc pushes a T over the table until it lies on its goal (Chi et al., Diffusion Policy). Physics by
// Chipmunk, which the published environment wraps, so that recorded actions lead to the recorded states.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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

}  // namespace fib::robots
