// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/rollout.h"

#include <algorithm>
#include <numeric>

#include "base/measure.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "training/torch/task.h"

namespace fib::robots {
namespace {

/// Keeps the noise of actions apart from other uses of an episode's seed.
constexpr uint64_t kActionNoise = 0x61637473;

struct Playing {
  Playing(const Robot& robot, uint32_t seed) : world(open_world(robot)), noise(seed, {kActionNoise}) {
    world->reset(seed);
    played.states.push_back(world->state());
  }

  /// Before the first step the first moment is seen twice.
  std::vector<ObservedValue> observe(int64_t ago) const {
    const auto last = static_cast<int64_t>(played.states.size()) - 1;
    return world->observe(played.states[static_cast<size_t>(std::max<int64_t>(0, last - ago))]);
  }

  /// `actions` are rows of so many numbers.
  void follow(std::span<const double> actions, size_t numbers, int64_t max_steps) {
    for (; !ended && !actions.empty(); actions = actions.subspan(numbers)) {
      const RobotStep step = world->step(actions.first(numbers));
      played.states.push_back(world->state());
      played.score = std::max(played.score, step.reward);
      ended = step.done || static_cast<int64_t>(played.states.size()) > max_steps;
    }
  }

  std::unique_ptr<RobotWorld> world;
  CounterRng noise;
  Played played;
  bool ended = false;
};

using Batch = std::vector<Playing*>;

/// What each has seen of one observation: [B,observed,numbers] or [B,observed,3,S,S], on [−1, 1].
at::Tensor observation(const std::vector<std::vector<ObservedValue>>& all, size_t which, const Observation& o,
                       const RobotNormalizer& normalizer) {
  if (!o.is_image()) {
    std::vector<double> numbers;
    for (const auto& seen : all) numbers.insert(numbers.end(), seen[which].numbers.begin(), seen[which].numbers.end());
    return normalized_numbers(std::move(numbers), normalizer.observed.at(o.name));
  }
  std::vector<at::Tensor> images;
  images.reserve(all.size());
  for (const auto& seen : all) images.push_back(reduced_images(seen[which].image, 1, o.image_size)[0]);
  return normalized_images(at::stack(images));
}

/// The last `observed` moments of each, in the task's order.
std::vector<at::Tensor> observations(const Batch& batch, const Policy& row, const RobotNormalizer& normalizer) {
  const int64_t observed = row.task.observed;
  std::vector<std::vector<ObservedValue>> all(batch.size() * static_cast<size_t>(observed));
  parallel_tasks(static_cast<int64_t>(all.size()), [&](int64_t i) {
    all[static_cast<size_t>(i)] = batch[static_cast<size_t>(i / observed)]->observe(observed - 1 - i % observed);
  });
  std::vector<at::Tensor> tensors;
  tensors.reserve(row.task.observations.size());
  for (size_t k = 0; k < row.task.observations.size(); ++k)
    tensors.push_back(observation(all, k, row.task.observations[k], normalizer).unflatten(0, {-1, observed}));
  return tensors;
}

at::Tensor noise_of(const Batch& batch, const Policy& row) {
  const at::Tensor noise = at::empty({static_cast<int64_t>(batch.size()), row.unet.horizon, row.task.action});
  for (size_t i = 0; i < batch.size(); ++i) {
    const at::Tensor own = noise[static_cast<int64_t>(i)];
    for (int64_t k = 0; k < own.numel(); ++k)
      own.data_ptr<float>()[k] = static_cast<float>(standard_normal(batch[i]->noise));
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

Batch still_playing(std::vector<Playing>& all) {
  Batch batch;
  for (Playing& p : all)
    if (!p.ended) batch.push_back(&p);
  return batch;
}

}  // namespace

std::vector<double> Rollout::scores() const {
  std::vector<double> all;
  all.reserve(episodes.size());
  for (const Played& p : episodes) all.push_back(p.score);
  return all;
}

double Rollout::mean_score() const {
  const std::vector<double> all = scores();
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

std::vector<size_t> Rollout::by_score() const {
  std::vector<size_t> order(episodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return episodes[i].score; });
  return order;
}

int64_t Rollout::steps() const {
  int64_t sum = 0;
  for (const Played& p : episodes) sum += static_cast<int64_t>(p.states.size()) - 1;
  return sum;
}

Rollout roll_out(DiffusionPolicy& policy, const Robot& robot, const RobotNormalizer& normalizer,
                 const RolloutOptions& options) {
  const Stopwatch watch;
  const training::EvalMode eval_mode(policy);
  const Policy& row = policy.row();
  const std::vector<DenoisingStep> steps = sampler_steps(options.sampler, policy.schedule());
  std::vector<Playing> all;
  all.reserve(options.seeds.size());
  for (const uint32_t seed : options.seeds) all.emplace_back(robot, seed);
  Rollout result;
  const int64_t decisions = (robot.max_steps + row.task.executed - 1) / row.task.executed;
  for (int64_t i = 0; i < decisions; ++i) {
    const Batch batch = still_playing(all);
    if (!batch.empty()) {
      const std::vector<at::Tensor> seen = observations(batch, row, normalizer);
      const Stopwatch thinking;
      const at::Tensor drawn = policy.act(seen, steps, [&] { return noise_of(batch, row); });
      result.policy_seconds += thinking.seconds();
      ++result.decisions;
      parallel_tasks(static_cast<int64_t>(batch.size()), [&](int64_t b) {
        batch[static_cast<size_t>(b)]->follow(actions_of(drawn[b], row.task, normalizer.action),
                                              static_cast<size_t>(row.task.action), robot.max_steps);
      });
    }
    if (options.decided) options.decided(i + 1, decisions);
  }
  result.episodes.reserve(all.size());
  for (Playing& p : all) result.episodes.push_back(std::move(p.played));
  result.seconds = watch.seconds();
  return result;
}

}  // namespace fib::robots
