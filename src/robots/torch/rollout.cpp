// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/rollout.h"

#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "base/rng.h"
#include "training/torch/stopwatch.h"
#include "training/torch/task.h"

namespace fib::robots {
namespace {

/// Keeps the noise of actions apart from other uses of an episode's seed.
constexpr uint64_t kActionNoise = 0x61637473;

struct Playing {
  explicit Playing(uint32_t seed) : noise(seed, {kActionNoise}) {
    world.reset(seed);
    played.scenes.push_back(world.scene());
  }

  /// Before the first step the first scene is seen twice.
  const PushTScene& seen(int64_t ago) const {
    const auto last = static_cast<int64_t>(played.scenes.size()) - 1;
    return played.scenes[static_cast<size_t>(std::max<int64_t>(0, last - ago))];
  }

  void follow(std::span<const Point> targets) {
    for (const Point& target : targets) {
      if (ended) return;
      const PushTStep step = world.step(target);
      played.scenes.push_back(world.scene());
      played.score = std::max(played.score, step.reward);
      ended = step.done || static_cast<int64_t>(played.scenes.size()) > kPushTMaxSteps;
    }
  }

  PushT world;
  CounterRng noise;
  Playback played;
  bool ended = false;
};

using Batch = std::vector<Playing*>;

/// The last `observed` scenes of each: places [B,observed,2], images [B,observed,3,S,S].
std::vector<at::Tensor> observations(const Batch& batch, const Policy& row, const PushTLimits& limits) {
  const int64_t observed = row.task.observed, side = row.image().image_size;
  const auto count = static_cast<int64_t>(batch.size()) * observed;
  std::vector<Point> places(static_cast<size_t>(count));
  const at::Tensor images = at::empty({count, 3, side, side}, at::kByte);
  parallel_tasks(count, [&](int64_t i) {
    const PushTScene& scene = batch[static_cast<size_t>(i / observed)]->seen(observed - 1 - i % observed);
    places[static_cast<size_t>(i)] = scene.state.agent;
    images[i].copy_(reduced_images(draw_image(scene), side)[0]);
  });
  return {normalized_places(places, limits.agent).unflatten(0, {-1, observed}),
          normalized_images(images).unflatten(0, {-1, observed})};
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

/// The actions to be done, of [T,2] that were drawn: from the time of the last observation on.
std::vector<Point> targets_of(const at::Tensor& drawn, const RobotTask& task, const Limits& limits) {
  const at::Tensor wide = drawn.narrow(0, task.observed - 1, task.executed).to(at::kDouble).contiguous();
  limits.restore({wide.data_ptr<double>(), static_cast<size_t>(wide.numel())});
  std::vector<Point> targets;
  targets.reserve(static_cast<size_t>(task.executed));
  for (int64_t k = 0; k < task.executed; ++k) targets.push_back({wide[k][0].item<double>(), wide[k][1].item<double>()});
  return targets;
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
  for (const Playback& p : episodes) all.push_back(p.score);
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
  for (const Playback& p : episodes) sum += static_cast<int64_t>(p.scenes.size()) - 1;
  return sum;
}

Rollout roll_out(DiffusionPolicy& policy, const PushTLimits& limits, const RolloutOptions& options) {
  const training::Stopwatch watch;
  const training::EvalMode eval_mode(policy);
  const Policy& row = policy.row();
  const std::vector<DenoisingStep> steps = sampler_steps(options.sampler, policy.schedule());
  std::vector<Playing> all;
  all.reserve(options.seeds.size());
  for (const uint32_t seed : options.seeds) all.emplace_back(seed);
  Rollout result;
  const int64_t decisions = (kPushTMaxSteps + row.task.executed - 1) / row.task.executed;
  for (int64_t i = 0; i < decisions; ++i) {
    const Batch batch = still_playing(all);
    if (!batch.empty()) {
      const std::vector<at::Tensor> seen = observations(batch, row, limits);
      const training::Stopwatch thinking;
      const at::Tensor drawn = policy.act(seen, steps, [&] { return noise_of(batch, row); });
      result.policy_seconds += thinking.seconds();
      ++result.decisions;
      parallel_tasks(static_cast<int64_t>(batch.size()), [&](int64_t b) {
        batch[static_cast<size_t>(b)]->follow(targets_of(drawn[b], row.task, limits.action));
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
