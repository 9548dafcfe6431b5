// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/rollout.h"

#include "engine/policy.h"
#include "training/torch/task.h"

namespace fib::robots {
namespace {

/// What each robot has seen of one observation, on [−1, 1]: [B,observed,numbers] or [B,observed,3,S,S].
at::Tensor observation(const std::vector<Seen>& all, size_t which, const Observation& o,
                       const RobotNormalizer& normalizer) {
  std::vector<double> numbers;
  std::vector<at::Tensor> images;
  for (const Seen& seen : all) {
    for (const auto& moment : seen) {
      const ObservedValue& value = moment[which];
      if (o.is_image()) images.push_back(reduced_images(value.image, 1, o.image_size)[0]);
      numbers.insert(numbers.end(), value.numbers.begin(), value.numbers.end());
    }
  }
  const at::Tensor values = o.is_image() ? normalized_images(at::stack(images))
                                         : normalized_numbers(std::move(numbers), normalizer.observed.at(o.name));
  return values.unflatten(0, {static_cast<int64_t>(all.size()), -1});
}

at::Tensor noise_of(const std::vector<CounterRng*>& streams, const Policy& row) {
  const at::Tensor noise = at::empty({static_cast<int64_t>(streams.size()), row.unet.horizon, row.task.action});
  auto* own = noise.data_ptr<float>();
  const auto count = static_cast<size_t>(row.unet.horizon * row.task.action);
  for (CounterRng* stream : streams) {
    engine::draw_noise(*stream, {own, count});
    own += count;
  }
  return noise;
}

/// The actions to be done, of [T,A] that were drawn: from the time of the last observation on.
std::vector<double> actions_of(const at::Tensor& drawn, const RobotTask& task, const Normalizer& normalizer) {
  const at::Tensor wide = drawn.narrow(0, task.observed - 1, task.executed).to(at::kDouble).contiguous();
  std::vector<double> actions(wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel());
  normalizer.restore(actions);
  return actions;
}

}  // namespace

TorchPlayer::TorchPlayer(DiffusionPolicy& policy, const RobotNormalizer& normalizer, const std::string& sampler)
    : policy_(policy), normalizer_(normalizer), steps_(sampler_steps(sampler, policy.schedule())) {}

std::vector<std::vector<double>> TorchPlayer::decide(const std::vector<Seen>& seen,
                                                     const std::vector<CounterRng*>& streams) {
  const RobotTask& task = row().task;
  std::vector<at::Tensor> observations;
  for (size_t k = 0; k < task.observations.size(); ++k)
    observations.push_back(observation(seen, k, task.observations[k], normalizer_));
  const at::Tensor drawn = policy_.act(observations, steps_, [&] { return noise_of(streams, row()); });
  std::vector<std::vector<double>> actions;
  for (int64_t b = 0; b < drawn.size(0); ++b) actions.push_back(actions_of(drawn[b], task, normalizer_.action));
  return actions;
}

Rollout roll_out(DiffusionPolicy& policy, const Robot& robot, const RobotNormalizer& normalizer,
                 const RolloutOptions& options) {
  const training::EvalMode eval_mode(policy);
  TorchPlayer player(policy, normalizer, options.sampler);
  return play(player, robot, {.seeds = options.seeds, .decided = options.decided});
}

}  // namespace fib::robots
