// SPDX-License-Identifier: Apache-2.0
// A policy plays: it looks at the last two moments, draws sixteen actions, does eight of them and looks again. Which
// policy decides, LibTorch's or a compiled one, is behind an interface.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "robots/robot.h"

namespace fib::robots {

/// The first seed of the published tests, and that of the episodes by which a run chooses its weights.
inline constexpr uint32_t kTestSeed = 100000, kValidationSeed = 200000;
/// Episodes that a published score is the mean of.
inline constexpr int64_t kTestEpisodes = 50;

/// The last moments that a robot has seen, the oldest first, each in the task's order.
using Seen = std::vector<std::vector<ObservedValue>>;

class Player {
 public:
  Player() = default;
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;
  virtual ~Player() = default;

  virtual const Policy& row() const = 0;
  /// The actions to be done by each robot, rows of numbers as its world takes them. Robot b draws noise from
  /// *streams[b], so that what it does depends on its own seed alone.
  virtual std::vector<std::vector<double>> decide(const std::vector<Seen>& seen,
                                                  const std::vector<CounterRng*>& streams) = 0;
};

struct PlayOptions {
  std::vector<uint32_t> seeds;  ///< one episode each
  /// Hears of each decision, also where all episodes have ended: equally often whatever happens.
  std::function<void(int64_t done, int64_t decisions)> decided = {};
};

struct Rollout {
  std::vector<Played> episodes;  ///< in the order of the seeds
  int64_t decisions = 0;         ///< of the whole batch
  double policy_seconds = 0;     ///< spent in them
  double seconds = 0;

  std::vector<double> scores() const;
  double mean_score() const;
  /// Of one decision.
  double policy_ms() const { return 1e3 * policy_seconds / static_cast<double>(decisions); }
  /// Episodes from the worst to the best.
  std::vector<size_t> by_score() const;
  /// Of all episodes, without their first states.
  int64_t steps() const;
};

/// All episodes in one batch.
Rollout play(Player& player, const Robot& robot, const PlayOptions& options);

/// The worst, the median and the best episode, one after the other.
void write_rollout_video(const std::filesystem::path& file, const Robot& robot, const Rollout& rollout);

}  // namespace fib::robots
