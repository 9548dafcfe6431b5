// SPDX-License-Identifier: Apache-2.0
#include "report/torch/robots/rollout_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/fields.h"
#include "robots/video.h"

namespace fib::report {
namespace {

std::string score_text(const RolloutReport& r) {
  const std::vector<double> scores = r.rollout.scores();
  return fmt::format("{:.4f} in the mean of {} episodes from seed {}, {} solved", r.rollout.mean_score(), scores.size(),
                     r.first_seed, std::count(scores.begin(), scores.end(), 1.0));
}

Fields<RolloutReport> rollout_fields() {
  using Row = RolloutReport;
  return {shown_field<Row>("policy",
                           [](const Row& r) {
                             const training::ModelSettings& model = r.policy.recipe.model;
                             return fmt::format("{} with {}, {}", model.name, model.attention, r.policy.weights);
                           }),
          shown_field<Row>("score", score_text),
          shown_field<Row>("decision",
                           [](const Row& r) {
                             return fmt::format("{:.1f} ms for the batch, {}", r.rollout.policy_ms(), r.sampler);
                           }),
          shown_field<Row>(
              "played",
              [](const Row& r) { return fmt::format("{} steps in {:.1f} s", r.rollout.steps(), r.rollout.seconds); }),
          hidden_field<Row>("task", [](const Row& r) { return r.policy.robot().name; }),
          hidden_field<Row>("episodes", [](const Row& r) { return r.rollout.episodes.size(); }),
          hidden_field<Row>("seed", [](const Row& r) { return r.first_seed; }),
          hidden_field<Row>("sampler", [](const Row& r) { return r.sampler; }),
          hidden_field<Row>("mean_score", [](const Row& r) { return r.rollout.mean_score(); }),
          hidden_field<Row>("scores", [](const Row& r) { return r.rollout.scores(); }),
          hidden_field<Row>("steps", [](const Row& r) { return r.rollout.steps(); }),
          hidden_field<Row>("seconds", [](const Row& r) { return r.rollout.seconds; }),
          hidden_field<Row>("policy_ms", [](const Row& r) { return r.rollout.policy_ms(); })};
}

}  // namespace

nlohmann::ordered_json rollout_json(const RolloutReport& report) { return fields_json(rollout_fields(), report); }

std::string rollout_text(const RolloutReport& report) { return fields_lines(rollout_fields(), report); }

void write_rollout_video(const std::string& file, const RolloutReport& report) {
  const robots::Robot& robot = report.policy.robot();
  const auto world = robots::open_world(robot);
  const std::vector<size_t> order = report.rollout.by_score();
  std::vector<std::vector<uint8_t>> frames;
  for (const size_t i : {order.front(), order[order.size() / 2], order.back()})
    for (const robots::WorldState& state : report.rollout.episodes[i].states) frames.push_back(world->frame(state));
  robots::write_video(file, frames, static_cast<int>(robot.hertz));
}

}  // namespace fib::report
