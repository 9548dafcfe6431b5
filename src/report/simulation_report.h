// SPDX-License-Identifier: Apache-2.0
// What `fib simulate` says: results as text and as JSON, and images of an episode.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/replay_summary.h"
#include "robots/episode_images.h"

namespace fib::report {

/// Recorded actions played again.
struct ReplayReport {
  analysis::ReplaySummary summary;
  double seconds = 0;
};
nlohmann::ordered_json replay_json(const ReplayReport& report);
std::string replay_text(const ReplayReport& report);

/// Episodes of PushT from seeds.
struct PlayReport {
  std::string actions;  ///< how the agent chooses
  int64_t first_seed = 0;
  std::vector<double> scores;
  double seconds = 0;
};
nlohmann::ordered_json play_json(const PlayReport& report);
std::string play_text(const PlayReport& report);

/// Episodes of an arm's expert.
struct ExpertReport {
  std::string task;
  int64_t first_seed = 0;
  int64_t episodes = 0, solved = 0, steps = 0;
  bool recorded = false;  ///< the solved ones
  double seconds = 0;
};
nlohmann::ordered_json expert_json(const ExpertReport& report);
std::string expert_text(const ExpertReport& report);

/// As a PNG file, whole or not at all.
void write_strip(const std::string& file, const robots::Strip& strip);

}  // namespace fib::report
