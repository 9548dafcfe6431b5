// SPDX-License-Identifier: Apache-2.0
#include "robots/play/rollout.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/measure.h"
#include "base/parallel.h"
#include "engine/policy.h"
#include "robots/video.h"

namespace fib::robots {
namespace {

struct Playing {
  Playing(const Robot& robot, uint32_t seed) : world(open_world(robot)), noise(engine::action_noise(seed)) {
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

/// The last `observed` moments of each.
std::vector<Seen> seen_by(const Batch& batch, int64_t observed) {
  std::vector<Seen> all(batch.size(), Seen(static_cast<size_t>(observed)));
  parallel_tasks(static_cast<int64_t>(batch.size()) * observed, [&](int64_t i) {
    const auto robot = static_cast<size_t>(i / observed), moment = static_cast<size_t>(i % observed);
    all[robot][moment] = batch[robot]->observe(observed - 1 - i % observed);
  });
  return all;
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

Rollout play(Player& player, const Robot& robot, const PlayOptions& options) {
  const Stopwatch watch;
  const RobotTask& task = player.row().task;
  std::vector<Playing> all;
  all.reserve(options.seeds.size());
  for (const uint32_t seed : options.seeds) all.emplace_back(robot, seed);
  Rollout result;
  const int64_t decisions = (robot.max_steps + task.executed - 1) / task.executed;
  for (int64_t i = 0; i < decisions; ++i) {
    const Batch batch = still_playing(all);
    if (!batch.empty()) {
      const std::vector<Seen> seen = seen_by(batch, task.observed);
      std::vector<CounterRng*> streams;
      for (Playing* p : batch) streams.push_back(&p->noise);
      const Stopwatch thinking;
      const std::vector<std::vector<double>> actions = player.decide(seen, streams);
      result.policy_seconds += thinking.seconds();
      ++result.decisions;
      parallel_tasks(static_cast<int64_t>(batch.size()), [&](int64_t b) {
        const auto robot_of = static_cast<size_t>(b);
        batch[robot_of]->follow(actions[robot_of], static_cast<size_t>(task.action), robot.max_steps);
      });
    }
    if (options.decided) options.decided(i + 1, decisions);
  }
  result.episodes.reserve(all.size());
  for (Playing& p : all) result.episodes.push_back(std::move(p.played));
  result.seconds = watch.seconds();
  return result;
}

void write_rollout_video(const std::filesystem::path& file, const Robot& robot, const Rollout& rollout) {
  const auto world = open_world(robot);
  const std::vector<size_t> order = rollout.by_score();
  std::vector<std::vector<uint8_t>> frames;
  for (const size_t i : {order.front(), order[order.size() / 2], order.back()})
    for (const WorldState& state : rollout.episodes[i].states) frames.push_back(world->frame(state));
  write_video(file, frames, static_cast<int>(robot.hertz));
}

}  // namespace fib::robots
