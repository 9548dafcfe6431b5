// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/cloning.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/measure.h"
#include "data/sampler.h"
#include "robots/torch/rollout.h"
#include "training/torch/classification.h"

namespace fib::robots {
namespace {

using namespace training;

SamplerOptions sampler_options(const Recipe& recipe, const RankInfo& rank) {
  return {.batch = static_cast<size_t>(recipe.optimizer.batch),
          .rank = static_cast<size_t>(rank.rank),
          .world = static_cast<size_t>(rank.world),
          .seed = static_cast<uint64_t>(recipe.run.seed)};
}

TaskBatch task_batch(Demonstrated windows) {
  TaskBatch batch{std::move(windows.observations)};
  batch.tensors.push_back(std::move(windows.actions));
  return batch;
}

/// Observations in the task's order, then actions.
Demonstrated demonstrated(const TaskBatch& batch) {
  return {{batch.tensors.begin(), batch.tensors.end() - 1}, batch.tensors.back()};
}

class WindowStream final : public TaskStream {
 public:
  WindowStream(const Recording& recording, const Sampler& sampler, int64_t epoch, int64_t first_step)
      : recording_(recording),
        sampler_(sampler),
        order_(sampler_.order(static_cast<uint64_t>(epoch))),
        step_(static_cast<size_t>(first_step)) {}

  std::optional<TaskBatch> next() override {
    if (step_ >= sampler_.steps_per_epoch()) return std::nullopt;
    return task_batch(recording_.batch(sampler_.part(order_, step_++)));
  }

 private:
  const Recording& recording_;
  Sampler sampler_;
  std::vector<size_t> order_;
  size_t step_;
};

/// Every world-th seed, from `rank`.
std::vector<uint32_t> own_seeds(uint32_t first, int64_t count, const ProcessGroup& group) {
  std::vector<uint32_t> seeds;
  for (int64_t i = group.rank(); i < count; i += group.world()) seeds.push_back(first + static_cast<uint32_t>(i));
  return seeds;
}

/// A mean over all processes, of a sum and a count of each.
double mean_of_all(ProcessGroup& group, double sum, double count) {
  const at::Tensor sums = at::tensor({sum, count}, at::kDouble);
  group.sum(sums);
  return sums[0].item<double>() / sums[1].item<double>();
}

EpisodeSplit split_of(const Recipe& recipe, int64_t episodes) {
  const auto held_out = std::nearbyint(static_cast<double>(episodes) * recipe.data.validation_fraction);
  const double left = static_cast<double>(episodes) - std::max(1.0, held_out);
  return split_episodes(episodes,
                        {.validation_share = recipe.data.validation_fraction,
                         .max_training = std::max<int64_t>(1, std::llround(left * recipe.data.train_fraction)),
                         .seed = static_cast<uint64_t>(recipe.data.split_seed)});
}

Experiment prepare_cloning(const Recipe& recipe, const RankInfo& rank) {
  const Policy& row = find_policy(recipe.model.name);
  const Robot& robot = find_robot(recipe.run.task);
  if (row.task.name != robot.policy_task)
    throw std::invalid_argument(fmt::format("the policy {} is not one for {}", row.name, robot.name));
  const auto all = open_recording(robot, recipe.data.source);
  const EpisodeSplit split = split_of(recipe, static_cast<int64_t>(all->episodes().size()));
  CloningData data{.normalizer = RobotNormalizer::of(*all, row.task), .training = nullptr, .validation = nullptr};
  data.training = std::make_unique<Recording>(*all, split.training, row, data.normalizer);
  data.validation = std::make_unique<Recording>(*all, split.validation, row, data.normalizer);
  torch::manual_seed(static_cast<uint64_t>(recipe.run.seed));
  auto policy = std::make_shared<DiffusionPolicy>(row, AttentionSpec::parse(recipe.model.attention));
  Experiment experiment{.recipe = recipe};
  experiment.task = std::make_unique<CloningTask>(recipe, rank, std::move(policy), std::move(data));
  return experiment;
}

}  // namespace

CloningTask::CloningTask(const Recipe& recipe, const RankInfo& rank, std::shared_ptr<DiffusionPolicy> policy,
                         CloningData data)
    : recipe_(recipe), rank_(rank), policy_(std::move(policy)), data_(std::move(data)) {}

int64_t CloningTask::episodes() const { return recipe_.run.eval_images > 0 ? recipe_.run.eval_images : kTestEpisodes; }

TaskFacts CloningTask::facts() const {
  return {.samples = "windows",
          .evaluation_unit = "episodes",
          .train = data_.training->windows(),
          .validation = episodes(),
          .test = kTestEpisodes,
          .score = {.name = "score", .higher_is_better = true},
          .judges_averages_only = true};
}

int64_t CloningTask::steps_per_epoch() const {
  const Sampler sampler(static_cast<size_t>(data_.training->windows()), sampler_options(recipe_, rank_));
  return static_cast<int64_t>(sampler.steps_per_epoch());
}

std::unique_ptr<TaskStream> CloningTask::epoch(int64_t epoch, int64_t first_step) {
  const Sampler sampler(static_cast<size_t>(data_.training->windows()), sampler_options(recipe_, rank_));
  return std::make_unique<WindowStream>(*data_.training, sampler, epoch, first_step);
}

at::Tensor CloningTask::loss(const TaskBatch& batch) { return policy_->loss(demonstrated(batch)).total(); }

/// With the same draws each time, so that evaluations differ in the weights alone.
double CloningTask::held_out_loss(ProcessGroup& group) {
  const EvalMode eval_mode(*policy_);
  torch::manual_seed(static_cast<uint64_t>(group.rank()));
  std::vector<size_t> own;
  for (int64_t i = group.rank(); i < data_.validation->windows(); i += group.world())
    own.push_back(static_cast<size_t>(i));
  double sum = 0;
  const auto batch = static_cast<size_t>(recipe_.optimizer.batch);
  for (size_t begin = 0; begin < own.size(); begin += batch) {
    const std::span<const size_t> part = std::span(own).subspan(begin, std::min(batch, own.size() - begin));
    const double mean = policy_->loss(data_.validation->batch(part)).noise.item<double>();
    sum += mean * static_cast<double>(part.size());
  }
  return mean_of_all(group, sum, static_cast<double>(own.size()));
}

Evaluation CloningTask::evaluate(Split split, ProcessGroup& group, const EvaluationHooks& hooks) {
  const Stopwatch watch;
  const bool test = split == Split::test;
  const int64_t total = test ? kTestEpisodes : episodes();
  const std::vector<uint32_t> seeds = own_seeds(test ? kTestSeed : kValidationSeed, total, group);
  const Rollout played =
      roll_out(*policy_, find_robot(recipe_.run.task), data_.normalizer,
               {.seeds = seeds, .sampler = policy_->row().sampler, .decided = [&](int64_t done, int64_t decisions) {
                  hooks.batch_done(group, total * done / decisions / group.world(), total);
                }});
  const std::vector<double> scores = played.scores();
  Evaluation result{.samples = total};
  result.metrics.push_back({"score", mean_of_all(group, std::accumulate(scores.begin(), scores.end(), 0.0),
                                                 static_cast<double>(scores.size()))});
  if (!test && data_.validation->windows() > 0) result.metrics.push_back({"loss", held_out_loss(group)});
  result.seconds = watch.seconds();
  return result;
}

TensorMetadata CloningTask::metadata() const {
  return {{"task", recipe_.run.task},
          {"model", recipe_.model.name},
          {"attention", AttentionSpec::parse(recipe_.model.attention).to_string()},
          {"data", recipe_.data.source},
          {"limits", data_.normalizer.to_json()}};
}

std::optional<AttentionFacts> CloningTask::attention(int64_t samples) {
  auto* vit = dynamic_cast<VitEncoder*>(policy_->encoder().cameras().front().get());
  if (vit == nullptr) return std::nullopt;
  return attention_facts(vit->model(), samples * policy_->row().task.observed);
}

std::vector<TaskRow> cloning_tasks() {
  std::vector<TaskRow> rows;
  rows.reserve(robots().size());
  for (const Robot& robot : robots()) rows.push_back({robot.name, robot.help, prepare_cloning});
  return rows;
}

}  // namespace fib::robots
