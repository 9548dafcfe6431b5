// SPDX-License-Identifier: Apache-2.0
#include "bench/torch/robots/policy_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/policy.h"

namespace fib::bench {
namespace {

/// Sums of float32 in another order differ by less; another policy by far more.
constexpr double kSame = 1e-4;

/// What a robot sees where an episode begins.
robots::Seen beginning(const robots::Robot& robot, uint32_t seed, int64_t observed) {
  const auto world = robots::open_world(robot);
  world->reset(seed);
  return robots::Seen(static_cast<size_t>(observed), world->observe(world->state()));
}

std::vector<double> decided(robots::Player& player, const robots::Seen& seen, uint32_t seed) {
  CounterRng stream = engine::action_noise(seed);
  return player.decide({seen}, {&stream}).front();
}

}  // namespace

double largest_difference(robots::Player& a, robots::Player& b, const robots::Robot& robot,
                          const robots::Normalizer& limits, int64_t episodes) {
  double most = 0;
  for (int64_t i = 0; i < episodes; ++i) {
    const auto seed = static_cast<uint32_t>(robots::kTestSeed + i);
    const robots::Seen seen = beginning(robot, seed, a.row().task.observed);
    const std::vector<double> one = decided(a, seen, seed), other = decided(b, seen, seed);
    for (size_t k = 0; k < one.size(); ++k)
      most = std::max(most, std::abs(limits.scale()[k % limits.scale().size()] * (one[k] - other.at(k))));
  }
  return most;
}

PolicyBench bench_policy(const robots::TrainedPolicy& trained, robots::CompiledPolicy& compiled,
                         const TimingOptions& timing) {
  robots::TorchPlayer torch(*trained.policy, trained.normalizer, compiled.sampler());
  if (compiled.row().name != torch.row().name || compiled.robot().name != trained.robot().name)
    throw std::runtime_error(fmt::format("the run holds {} of the task {}, the file {} of {}", torch.row().name,
                                         trained.robot().name, compiled.row().name, compiled.robot().name));
  PolicyBench result{.policy = compiled.description(), .sampler = compiled.sampler(), .compiled = {}, .torch = {}};
  constexpr int64_t kEpisodes = 10;
  result.difference = largest_difference(compiled, torch, trained.robot(), trained.normalizer.action, kEpisodes);
  if (!(result.difference <= kSame))
    throw std::runtime_error(
        fmt::format("actions differ by {:.2g} of [-1, 1]; was the file compiled from this run?", result.difference));
  const robots::Seen seen = beginning(trained.robot(), robots::kTestSeed, torch.row().task.observed);
  const auto times = time_interleaved(
      {[&] { decided(compiled, seen, robots::kTestSeed); }, [&] { decided(torch, seen, robots::kTestSeed); }}, timing);
  result.compiled = times[0], result.torch = times[1];
  return result;
}

}  // namespace fib::bench
