// SPDX-License-Identifier: Apache-2.0
#include "training/run/log.h"

#include <chrono>
#include <nlohmann/json.hpp>

namespace fib::training {

RunLog::RunLog(const RunFiles& files, const LogPosition& from)
    : metrics_(files.metrics(), from.metrics), events_(files.events(), from.events) {}

void RunLog::add(const std::string& group, const nlohmann::ordered_json& line) {
  metrics_.append(line.dump() + "\n");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (const auto& [key, value] : line.items())
    if (value.is_number() && key != "step")
      events_.add({.step = line.at("step").get<int64_t>(),
                   .tag = group + "/" + key,
                   .value = value.get<float>(),
                   .wall_time = std::chrono::duration<double>(now).count()});
}

LogPosition RunLog::sync() {
  metrics_.sync();
  events_.sync();
  return {.metrics = metrics_.size(), .events = events_.size()};
}

}  // namespace fib::training
