// SPDX-License-Identifier: Apache-2.0
#include "report/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "report/run_comparison.h"
#include "report/words.h"

namespace fib::report {
namespace {

/// Below this p a difference is said to be larger than chance.
constexpr double kSignificant = 0.05;

auto all_but_seed(const RunRecord& run) {
  return std::tie(run.model, run.attention, run.data, run.score, run.epochs, run.train_samples, run.test_samples);
}

double shown_score(const RunRecord& run) { return run.score_scale() * run.test_score; }

std::vector<SeedGroup> grouped_runs(const std::vector<RunRecord>& runs) {
  std::vector<SeedGroup> groups;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto same = [&](const SeedGroup& g) { return all_but_seed(runs[g.runs.front()]) == all_but_seed(runs[i]); };
    auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) group = groups.insert(group, SeedGroup{});
    group->runs.push_back(i);
  }
  return groups;
}

/// Every group by its attention, where that tells them apart.
void name_groups(const std::vector<RunRecord>& runs, std::vector<SeedGroup>& groups) {
  std::map<std::string, int> uses;
  for (const SeedGroup& g : groups) ++uses[runs[g.runs.front()].attention];
  for (SeedGroup& g : groups) {
    const RunRecord& run = runs[g.runs.front()];
    g.name = uses[run.attention] == 1 ? run.attention
                                      : fmt::format("{}, {}, {}, {:.0f} epochs of {} {}", run.attention, run.model,
                                                    run.data, run.epochs, grouped(run.train_samples), run.samples);
  }
}

analysis::BySeed scores_by_seed(const std::vector<RunRecord>& runs, const SeedGroup& group) {
  analysis::BySeed scores;
  for (const size_t i : group.runs) scores.emplace(runs[i].seed, shown_score(runs[i]));
  return scores;
}

/// Other data or a longer training would be compared instead of the attention.
bool trained_alike(const RunRecord& a, const RunRecord& b) {
  return why_not_comparable(a, b).empty() && a.epochs == b.epochs && a.train_samples == b.train_samples;
}

std::optional<analysis::PairedTest> paired(const std::vector<RunRecord>& runs, const SeedGroup& group,
                                           const SeedGroup& first) {
  if (!trained_alike(runs[group.runs.front()], runs[first.runs.front()])) return std::nullopt;
  return analysis::paired_by_seed(scores_by_seed(runs, group), scores_by_seed(runs, first));
}

}  // namespace

std::vector<SeedGroup> over_seeds(const std::vector<RunRecord>& runs) {
  std::vector<SeedGroup> groups = grouped_runs(runs);
  name_groups(runs, groups);
  for (SeedGroup& group : groups) {
    group.score = analysis::estimate_over_seeds(scores_by_seed(runs, group));
    if (&group != &groups.front()) group.against_first = paired(runs, group, groups.front());
  }
  const bool several = std::any_of(groups.begin(), groups.end(), [](const SeedGroup& g) { return g.score.count > 1; });
  return several ? groups : std::vector<SeedGroup>{};
}

std::string interval_text(const analysis::Estimate& score) {
  if (score.count < 2) return fmt::format("{:.2f}", score.mean);
  return fmt::format("{:.2f} ± {:.2f}", score.mean, score.half_width);
}

std::string difference_text(const std::optional<analysis::PairedTest>& test) {
  if (!test) return "–";
  const std::string p = test->p < 0.001 ? "p < 0.001" : fmt::format("p {:.3f}", test->p);
  return fmt::format("{:+.2f}, {}{}", test->difference, p, test->p < kSignificant ? " *" : "");
}

nlohmann::ordered_json seeds_json(const std::vector<SeedGroup>& groups) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SeedGroup& g : groups) {
    nlohmann::ordered_json entry = {{"name", g.name}, {"seeds", g.score.count}, {"mean", g.score.mean}};
    if (g.score.count > 1) entry.update({{"deviation", g.score.deviation}, {"half_width_95", g.score.half_width}});
    if (g.against_first) entry.update({{"difference", g.against_first->difference}, {"p", g.against_first->p}});
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace fib::report
