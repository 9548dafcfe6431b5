// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay_summary.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "analysis/statistics.h"

namespace fib::analysis {
namespace {

using robots::ReplayErrors;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Of one kind of error, over the steps of all episodes.
ErrorSpread spread_of(const std::vector<ReplayErrors>& episodes, std::vector<double> ReplayErrors::*errors) {
  std::vector<double> all;
  for (const ReplayErrors& e : episodes) all.insert(all.end(), (e.*errors).begin(), (e.*errors).end());
  if (all.empty()) throw std::runtime_error("the recording has no episode of two steps: nothing to compare");
  std::ranges::sort(all);
  return {.mean = mean_of(all),
          .median = quantile(all, 0.5),
          .p90 = quantile(all, 0.9),
          .p99 = quantile(all, 0.99),
          .max = all.back()};
}

}  // namespace

ReplaySummary summarize_replay(const std::vector<ReplayErrors>& episodes) {
  ReplaySummary summary{.episodes = static_cast<int64_t>(episodes.size()),
                        .agent = spread_of(episodes, &ReplayErrors::agent),
                        .block = spread_of(episodes, &ReplayErrors::block),
                        .angle = spread_of(episodes, &ReplayErrors::angle),
                        .image = spread_of(episodes, &ReplayErrors::image)};
  std::vector<double> scores;
  double most = -1;
  for (size_t e = 0; e < episodes.size(); ++e) {
    const std::vector<double>& images = episodes[e].image;
    summary.steps += static_cast<int64_t>(images.size());
    scores.push_back(episodes[e].score);
    const auto worst = std::ranges::max_element(images);
    if (worst == images.end() || *worst <= most) continue;
    most = *worst;
    summary.worst_episode = static_cast<int64_t>(e);
    summary.worst_step = worst - images.begin() + 1;  // the errors begin with the second state
  }
  summary.mean_score = mean_of(scores);
  return summary;
}

}  // namespace fib::analysis
