// SPDX-License-Identifier: Apache-2.0
#include "report/robots/rollout_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/fields.h"

namespace fib::report {
namespace {

std::string score_text(const RolloutReport& r) {
  const std::vector<double> scores = r.rollout.scores();
  return fmt::format("{:.4f} in the mean of {} episodes from seed {}, {} solved", r.rollout.mean_score(), scores.size(),
                     r.first_seed, std::count(scores.begin(), scores.end(), 1.0));
}

Fields<RolloutReport> rollout_fields() {
  using Row = RolloutReport;
  return {shown_field<Row>("policy", [](const Row& r) { return r.policy; }),
          shown_field<Row>("score", score_text),
          shown_field<Row>("decision",
                           [](const Row& r) {
                             return fmt::format("{:.1f} ms for the batch, {}", r.rollout.policy_ms(), r.sampler);
                           }),
          shown_field<Row>(
              "played",
              [](const Row& r) { return fmt::format("{} steps in {:.1f} s", r.rollout.steps(), r.rollout.seconds); }),
          hidden_field<Row>("task", [](const Row& r) { return r.task; }),
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

}  // namespace fib::report
