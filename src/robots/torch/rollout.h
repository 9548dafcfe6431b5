// SPDX-License-Identifier: Apache-2.0
// Policies of LibTorch: opened from the directory of a run, playing, and recorded for the engine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/graph.h"
#include "robots/play/rollout.h"
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

struct RolloutOptions {
  std::vector<uint32_t> seeds;                                        ///< one episode each
  std::string sampler;                                                ///< of sampler_steps
  std::function<void(int64_t done, int64_t decisions)> decided = {};  ///< as in PlayOptions
};

/// LibTorch decides, for all robots at once. The policy is in eval mode.
class TorchPlayer final : public Player {
 public:
  TorchPlayer(DiffusionPolicy& policy, const RobotNormalizer& normalizer, const std::string& sampler);

  const Policy& row() const override { return policy_.row(); }
  std::vector<std::vector<double>> decide(const std::vector<Seen>& seen,
                                          const std::vector<CounterRng*>& streams) override;

 private:
  DiffusionPolicy& policy_;
  const RobotNormalizer& normalizer_;
  std::vector<DenoisingStep> steps_;
};

/// All episodes in one batch, in eval mode. What an episode draws depends on its seed alone.
Rollout roll_out(DiffusionPolicy& policy, const Robot& robot, const RobotNormalizer& normalizer,
                 const RolloutOptions& options);

// ---- It is compiled

/// What engine::lower takes: observations and noise to actions, in the world's numbers, with all steps of the sampler.
/// What depends on a step's time alone is computed here, and what depends on the observations once for a decision.
engine::Graph record_policy(const TrainedPolicy& policy, const std::string& sampler);

}  // namespace fib::robots
