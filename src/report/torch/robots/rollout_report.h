// SPDX-License-Identifier: Apache-2.0
// What `fib rollout` says of a policy that has played.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "robots/torch/rollout.h"

namespace fib::report {

struct RolloutReport {
  const robots::TrainedPolicy& policy;
  int64_t first_seed = 0;
  std::string sampler;
  robots::Rollout rollout;
};

nlohmann::ordered_json rollout_json(const RolloutReport& report);
std::string rollout_text(const RolloutReport& report);
/// The worst, the median and the best episode, one after the other.
void write_rollout_video(const std::string& file, const RolloutReport& report);

}  // namespace fib::report
