// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/commands/trained.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/table.h"
#include "robots/torch/trained_policy.h"
#include "robots/video.h"

namespace fib::cli {
namespace {

using report::Table;
using robots::Rollout;
using robots::TrainedPolicy;

nlohmann::ordered_json rollout_json(const RolloutArguments& a, const TrainedPolicy& p, const std::string& sampler,
                                    const Rollout& r) {
  return {{"task", p.robot().name}, {"episodes", a.episodes},       {"seed", a.seed},
          {"sampler", sampler},     {"mean_score", r.mean_score()}, {"scores", r.scores()},
          {"steps", r.steps()},     {"seconds", r.seconds},         {"policy_ms", r.policy_ms()}};
}

std::string rollout_text(const RolloutArguments& a, const TrainedPolicy& p, const std::string& sampler,
                         const Rollout& r) {
  const std::vector<double> scores = r.scores();
  const auto solved = std::count(scores.begin(), scores.end(), 1.0);
  Table table({{}, {}});
  table.add_row({"policy", fmt::format("{} with {}, {}", p.recipe.model.name, p.recipe.model.attention, p.weights)});
  table.add_row({"score", fmt::format("{:.4f} in the mean of {} episodes from seed {}, {} solved", r.mean_score(),
                                      a.episodes, a.seed, solved)});
  table.add_row({"decision", fmt::format("{:.1f} ms for the batch, {}", r.policy_ms(), sampler)});
  table.add_row({"played", fmt::format("{} steps in {:.1f} s", r.steps(), r.seconds)});
  return table.to_string();
}

/// Worst, median, best, one after the other.
void write_rollout_video(const std::string& file, const robots::Robot& robot, const Rollout& r) {
  const auto world = robots::open_world(robot);
  const std::vector<size_t> order = r.by_score();
  std::vector<std::vector<uint8_t>> frames;
  for (const size_t i : {order.front(), order[order.size() / 2], order.back()})
    for (const robots::Moment& moment : r.episodes[i].moments) frames.push_back(world->frame(moment));
  robots::write_video(file, frames, static_cast<int>(robot.hertz));
}

}  // namespace

void run(const RolloutArguments& a, const Globals& globals) {
  check_output("--video", a.video, ".mp4");
  const TrainedPolicy opened = robots::open_policy(a.run);
  robots::RolloutOptions options{.seeds = {}, .sampler = a.sampler.empty() ? opened.policy->row().sampler : a.sampler};
  options.seeds.resize(static_cast<size_t>(a.episodes));
  std::iota(options.seeds.begin(), options.seeds.end(), static_cast<uint32_t>(a.seed));
  StatusLine status(globals.quiet);
  options.decided = [&](int64_t done, int64_t of) {
    show_share(status, "playing", static_cast<double>(done) / static_cast<double>(of));
  };
  const Rollout result = robots::roll_out(*opened.policy, opened.robot(), opened.limits, options);
  status.clear();
  if (a.json)
    print_json(rollout_json(a, opened, options.sampler, result));
  else if (!globals.quiet)
    fmt::print("{}", rollout_text(a, opened, options.sampler, result));
  if (a.video.empty()) return;
  write_rollout_video(a.video, opened.robot(), result);
  say_written(a.video, globals.quiet || a.json, "(worst, median and best episode)");
}

}  // namespace fib::cli
