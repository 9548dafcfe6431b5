// SPDX-License-Identifier: Apache-2.0
// What `fib rollout` says of a policy that has played.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "robots/play/rollout.h"

namespace fib::report {

struct RolloutReport {
  std::string policy;  ///< "pusht_small with full, best.safetensors"
  std::string task;
  int64_t first_seed = 0;
  std::string sampler;
  robots::Rollout rollout;
};

nlohmann::ordered_json rollout_json(const RolloutReport& report);
std::string rollout_text(const RolloutReport& report);

}  // namespace fib::report
