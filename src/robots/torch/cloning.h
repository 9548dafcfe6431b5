// SPDX-License-Identifier: Apache-2.0
// Behavioural cloning: a policy learns windows of demonstrations, and is judged by playing.
#pragma once

#include <memory>

#include "robots/torch/diffusion_policy.h"
#include "robots/torch/recording.h"
#include "training/torch/task.h"

namespace fib::robots {

/// What a policy learns from. Both are parts of one recording.
struct CloningData {
  RobotNormalizer normalizer;
  std::unique_ptr<Recording> training, validation;
};

class CloningTask final : public training::Task {
 public:
  /// The recipe's task names the robot.
  CloningTask(const training::Recipe& recipe, const training::RankInfo& rank, std::shared_ptr<DiffusionPolicy> policy,
              CloningData data);

  torch::nn::Module& network() override { return *policy_; }
  /// One rate for all parameters, as published.
  std::vector<int64_t> stages() const override { return {}; }
  training::TaskFacts facts() const override;
  int64_t steps_per_epoch() const override;
  std::unique_ptr<training::TaskStream> epoch(int64_t epoch, int64_t first_step) override;
  at::Tensor loss(const training::TaskBatch& batch) override;
  /// The mean score of episodes from seeds; of the validation split also the loss of held-out demonstrations.
  training::Evaluation evaluate(training::Split split, training::ProcessGroup& group,
                                const training::EvaluationHooks& hooks) override;
  TensorMetadata metadata() const override;
  std::optional<training::AttentionFacts> attention(int64_t samples) override;

 private:
  int64_t episodes() const;
  double held_out_loss(training::ProcessGroup& group);

  training::Recipe recipe_;
  training::RankInfo rank_;
  std::shared_ptr<DiffusionPolicy> policy_;
  CloningData data_;
};

/// A task for each robot, of its name: `model` is a row of policies(), `data` names a recording.
std::vector<training::TaskRow> cloning_tasks();

}  // namespace fib::robots
