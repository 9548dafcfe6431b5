// SPDX-License-Identifier: Apache-2.0
// A policy plays: it looks at the last two moments, draws sixteen actions, does eight of them and looks again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "robots/robot.h"
#include "robots/torch/diffusion_policy.h"
#include "robots/torch/recording.h"
#include "training/recipe/recipe.h"

namespace fib::robots {

// ---- A policy that has learned, from the directory of its run

struct TrainedPolicy {
  training::Recipe recipe;
  std::string weights;  ///< the file's name
  std::shared_ptr<DiffusionPolicy> policy;
  RobotNormalizer normalizer;
  const Robot& robot() const { return find_robot(recipe.run.task); }
};

/// Its best weights; of a run that has not been judged yet the averaged ones. Throws std::invalid_argument for a run
/// that learned something else, std::runtime_error for one without weights.
TrainedPolicy open_policy(const std::filesystem::path& run);

// ---- It plays

/// The first seed of the published tests, and that of the episodes by which a run chooses its weights.
inline constexpr uint32_t kTestSeed = 100000, kValidationSeed = 200000;
/// Episodes that a published score is the mean of.
inline constexpr int64_t kTestEpisodes = 50;

struct RolloutOptions {
  std::vector<uint32_t> seeds;  ///< one episode each
  std::string sampler;          ///< of sampler_steps
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

/// All episodes in one batch, in eval mode. What an episode draws depends on its seed alone.
Rollout roll_out(DiffusionPolicy& policy, const Robot& robot, const RobotNormalizer& normalizer,
                 const RolloutOptions& options);

}  // namespace fib::robots
