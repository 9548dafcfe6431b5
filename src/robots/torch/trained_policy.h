// SPDX-License-Identifier: Apache-2.0
// A policy that has learned, from the directory of its run.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "robots/torch/diffusion_policy.h"
#include "robots/torch/recording.h"
#include "training/recipe/recipe.h"

namespace fib::robots {

struct TrainedPolicy {
  training::Recipe recipe;
  std::string weights;  ///< the file's name
  std::shared_ptr<DiffusionPolicy> policy;
  RobotLimits limits;
  const Robot& robot() const { return find_robot(recipe.run.task); }
};

/// Its best weights; of a run that has not been judged yet the averaged ones. Throws std::invalid_argument for a run
/// that learned something else, std::runtime_error for one without weights.
TrainedPolicy open_policy(const std::filesystem::path& run);

}  // namespace fib::robots
