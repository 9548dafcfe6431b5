// SPDX-License-Identifier: Apache-2.0
#include "report/simulation_report.h"

#include <fmt/format.h>

#include <numeric>

#include "base/atomic_file.h"
#include "report/fields.h"

namespace fib::report {
namespace {

using analysis::ErrorSpread;
using analysis::ReplaySummary;
using nlohmann::ordered_json;

/// What an error is of: a line of the table.
struct ErrorLine {
  std::string of;
  ErrorSpread spread;
};

Field<ErrorLine> error(const char* key, const char* title, double ErrorSpread::*value) {
  return number_field<ErrorLine>(
      key, title, [value](const ErrorLine& line) { return line.spread.*value; }, 6);
}

Fields<ErrorLine> error_fields() {
  return {shown_field<ErrorLine>(
              "error", [](const ErrorLine& line) { return line.of; }, Table::Align::left),
          error("", "mean", &ErrorSpread::mean),
          error("median", "median", &ErrorSpread::median),
          error("p90", "p90", &ErrorSpread::p90),
          error("p99", "p99", &ErrorSpread::p99),
          error("max", "max", &ErrorSpread::max)};
}

ordered_json error_json(const ErrorSpread& spread) { return fields_json(error_fields(), ErrorLine{"", spread}); }

ordered_json image_json(const ReplaySummary& r) {
  return {{"mean", r.image.mean},
          {"p99", r.image.p99},
          {"max", r.image.max},
          {"worst", {{"episode", r.worst_episode}, {"step", r.worst_step}}}};
}

Fields<ReplayReport> replay_fields() {
  using Row = ReplayReport;
  return {hidden_field<Row>("task", [](const Row&) { return "pusht"; }),
          hidden_field<Row>("episodes", [](const Row& r) { return r.summary.episodes; }),
          hidden_field<Row>("steps", [](const Row& r) { return r.summary.steps; }),
          hidden_field<Row>("agent_error", [](const Row& r) { return error_json(r.summary.agent); }),
          hidden_field<Row>("block_error", [](const Row& r) { return error_json(r.summary.block); }),
          hidden_field<Row>("angle_error", [](const Row& r) { return error_json(r.summary.angle); }),
          hidden_field<Row>("image_error", [](const Row& r) { return image_json(r.summary); }),
          hidden_field<Row>("mean_score", [](const Row& r) { return r.summary.mean_score; }),
          hidden_field<Row>("seconds", [](const Row& r) { return r.seconds; })};
}

double mean_score(const PlayReport& r) {
  return std::accumulate(r.scores.begin(), r.scores.end(), 0.0) / static_cast<double>(r.scores.size());
}

double times_real_time(const ExpertReport& r) { return static_cast<double>(r.steps) / robots::kArmHertz / r.seconds; }

}  // namespace

ordered_json replay_json(const ReplayReport& report) { return fields_json(replay_fields(), report); }

std::string replay_text(const ReplayReport& report) {
  const ReplaySummary& r = report.summary;
  const std::vector<ErrorLine> lines = {
      {"agent, pixels", r.agent}, {"block, pixels", r.block}, {"angle, radians", r.angle}, {"image, of 255", r.image}};
  return fields_table(error_fields(), lines) +
         fmt::format(
             "\n{} episodes, {} steps in {:.1f} s. The demonstrations' score is {:.3f}. The image that "
             "differs most: episode {}, step {}.\n",
             r.episodes, r.steps, report.seconds, r.mean_score, r.worst_episode, r.worst_step);
}

ordered_json play_json(const PlayReport& r) {
  return {{"task", "pusht"},    {"actions", r.actions}, {"episodes", r.scores.size()}, {"mean_score", mean_score(r)},
          {"scores", r.scores}, {"seconds", r.seconds}};
}

std::string play_text(const PlayReport& r) {
  return fmt::format("Mean score of {} episodes from seed {}, {} actions: {:.4f}\n", r.scores.size(), r.first_seed,
                     r.actions, mean_score(r));
}

ordered_json expert_json(const ExpertReport& r) {
  return {{"task", r.task},
          {"actions", "expert"},
          {"episodes", r.episodes},
          {"seed", r.first_seed},
          {"mean_score", static_cast<double>(r.solved) / static_cast<double>(r.episodes)},
          {"steps", r.steps},
          {"recorded", r.recorded ? r.solved : 0},
          {"seconds", r.seconds},
          {"times_real_time", times_real_time(r)}};
}

std::string expert_text(const ExpertReport& r) {
  return fmt::format(
      "The expert solved {} of {} episodes from seed {}: {} steps in {:.1f} s, {:.1f} times real time.\n", r.solved,
      r.episodes, r.first_seed, r.steps, r.seconds, times_real_time(r));
}

void write_strip(const std::string& file, const robots::Strip& strip) {
  write_file_atomically(file, encode_png(strip.rgb, strip.width, strip.height));
}

}  // namespace fib::report
