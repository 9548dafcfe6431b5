// SPDX-License-Identifier: Apache-2.0
// What a decision of one robot takes, compiled and by LibTorch.
#pragma once

#include <string>

#include "bench/measure.h"
#include "robots/play/compiled_policy.h"
#include "robots/torch/rollout.h"

namespace fib::bench {

struct PolicyBench {
  std::string policy, sampler;
  double difference = 0;  ///< the largest of any action, on [−1, 1]
  Timing compiled, torch;
  double ratio() const { return compiled.min_ms / torch.min_ms; }
};

/// First both decide at the beginning of some episodes, then they take turns. Throws std::runtime_error where they
/// decide otherwise, or are not the same policy.
PolicyBench bench_policy(const robots::TrainedPolicy& trained, robots::CompiledPolicy& compiled,
                         const TimingOptions& timing);

/// The largest difference of two players' actions, on [−1, 1], at the beginning of so many episodes.
double largest_difference(robots::Player& a, robots::Player& b, const robots::Robot& robot,
                          const robots::Normalizer& limits, int64_t episodes);

}  // namespace fib::bench
