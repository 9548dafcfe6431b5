// SPDX-License-Identifier: Apache-2.0
#include "report/run_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "report/text.h"
#include "training/run/metrics.h"

namespace fib::report {

namespace {

std::string judged(const RunRecord& run, const RunRecord& first) {
  const training::MetricStyle style = training::metric_style(run.score);
  const double gained = run.score_scale() * (run.test_score - first.test_score) * (run.lower_is_better() ? -1 : 1);
  if (std::abs(gained) < (style.percent ? 0.05 : 0.0005)) return "is as good";
  const char* const how = gained > 0 ? "better" : "worse";
  return style.percent ? fmt::format("is {:.1f} points {}", std::abs(gained), how)
                       : fmt::format("is {:.3f} {} by its {}", std::abs(gained), how, style.label);
}

/// On one machine, as far as is known.
bool both_timed(const RunRecord& run, const RunRecord& first) {
  const bool moved = !run.machine.empty() && !first.machine.empty() && run.machine != first.machine;
  return !moved && run.samples_per_second > 0 && first.samples_per_second > 0;
}

}  // namespace

std::string why_not_comparable(const RunRecord& run, const RunRecord& first) {
  std::vector<std::string> reasons;
  const auto differ = [&](const std::string& what, const std::string& a, const std::string& b) {
    if (a != b) reasons.push_back(fmt::format("another {} ({}, not {})", what, a, b));
  };
  differ("model", run.model, first.model);
  differ("dataset", run.data, first.data);
  differ("number of test " + run.samples, grouped(run.test_samples), grouped(first.test_samples));
  return fmt::format("{}", fmt::join(reasons, ", "));
}

std::string speed_ratio(const RunRecord& run, const RunRecord& first) {
  if (!both_timed(run, first) || !why_not_comparable(run, first).empty()) return "–";
  return fmt::format("{:.1f} ×", run.samples_per_second / first.samples_per_second);
}

std::string comparison(const RunRecord& run, const RunRecord& first) {
  const std::string reason = why_not_comparable(run, first);
  if (!reason.empty()) return fmt::format("{} is not compared with {}: it has {}.", run.name, first.name, reason);
  const std::string speed = both_timed(run, first)
                                ? fmt::format("trains {} as fast as {}", speed_ratio(run, first), first.name)
                                : "was not timed against " + first.name;
  return fmt::format("{} looks at {:.1f} % of the pairs, {} and {} on the test {}.", run.name, 100 * run.pair_share,
                     speed, judged(run, first), run.samples);
}

std::string known_number(double value, int digits, const std::string& unit) {
  return value > 0 && std::isfinite(value) ? fmt::format("{:.{}f}{}", value, digits, unit) : "–";
}

std::string known_rate(double per_second, const std::string& unit) {
  return known_number(per_second, per_second < 10 ? 2 : 0, unit);
}

// ---- Seeds

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

namespace {

std::optional<double> known(double value) { return value > 0 ? std::optional(value) : std::nullopt; }

}  // namespace

Fields<RunRecord> run_fields() {
  using Row = RunRecord;
  return {text_field<Row>("run", "run", [](const Row& r) { return r.name; }),
          text_field<Row>("model", "model", [](const Row& r) { return r.model; }),
          text_field<Row>("attention", "attention", [](const Row& r) { return r.attention; }),
          text_field<Row>("data", "data", [](const Row& r) { return r.data; }),
          field<Row>(
              "seed", "seed", [](const Row& r) { return r.seed; }, [](int64_t seed) { return std::to_string(seed); }),
          number_field<Row>(
              "epochs", "epochs", [](const Row& r) { return r.epochs; }, 0),
          count_field<Row>("images", "images", [](const Row& r) { return r.train_samples; }),
          count_field<Row>("test_images", "test images", [](const Row& r) { return r.test_samples; }),
          text_field<Row>("finished", "finished (UTC)", [](const Row& r) { return r.finished; }),
          hidden_field<Row>("machine", [](const Row& r) { return r.machine; })};
}

Fields<RunRecord> result_fields(const RunRecord& first) {
  using Row = RunRecord;
  return {shown_field<Row>(
              "run", [](const Row& r) { return r.name; }, Table::Align::left),
          field<Row>(
              kTestKey + first.score, "test", [](const Row& r) { return r.test_score; },
              [metric = first.score](double score) {
                return training::metric_text({metric, score}) + " " + training::metric_style(metric).label;
              }),
          field<Row>(
              "images_per_second", "images/s", [](const Row& r) { return known(r.samples_per_second); },
              [](double rate) { return known_rate(rate, ""); }),
          shown_field<Row>("speed", [first](const Row& r) { return speed_ratio(r, first); }),
          share_field<Row>(
              "pair_share", "pairs", [](const Row& r) { return r.pair_share; }, 1),
          number_field<Row>(
              "attention_ms", "attention", [](const Row& r) { return known(r.attention_ms); }, 1, " ms"),
          number_field<Row>(
              "step_ms", "of step", [](const Row& r) { return known(r.step_ms); }, 1, " ms"),
          number_field<Row>(
              "peak_memory_mb", "memory", [](const Row& r) { return r.peak_memory_mb; }, 0, " MB")};
}

nlohmann::ordered_json run_json(const RunRecord& run) {
  return fields_json(joined_fields(run_fields(), result_fields(run)), run);
}

Fields<SeedGroup> seed_fields(const std::string& first) {
  using Row = SeedGroup;
  const auto of_several = [](double analysis::Estimate::*value) {
    return [value](const Row& g) { return g.score.count > 1 ? std::optional(g.score.*value) : std::nullopt; };
  };
  const auto of_test = [](double analysis::PairedTest::*value) {
    return [value](const Row& g) { return g.against_first ? std::optional((*g.against_first).*value) : std::nullopt; };
  };
  return {text_field<Row>("name", "over seeds", [](const Row& g) { return g.name; }),
          field<Row>(
              "seeds", "seeds", [](const Row& g) { return g.score.count; },
              [](int64_t seeds) { return std::to_string(seeds); }),
          hidden_field<Row>("mean", [](const Row& g) { return g.score.mean; }),
          shown_field<Row>("test", [](const Row& g) { return interval_text(g.score); }),
          optional_field<Row>("deviation", of_several(&analysis::Estimate::deviation)),
          optional_field<Row>("half_width_95", of_several(&analysis::Estimate::half_width)),
          shown_field<Row>("against " + first,
                           [first](const Row& g) { return g.name == first ? "" : difference_text(g.against_first); }),
          optional_field<Row>("difference", of_test(&analysis::PairedTest::difference)),
          optional_field<Row>("p", of_test(&analysis::PairedTest::p))};
}

nlohmann::ordered_json runs_json(const std::vector<RunRecord>& runs) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const RunRecord& run : runs) rows.push_back(run_json(run));
  return {{"rows", rows}, {"over_seeds", fields_json(seed_fields(""), over_seeds(runs))}};
}

std::string runs_text(const std::vector<RunRecord>& runs) {
  std::string text = fields_table(run_fields(), runs) + "\n" + fields_table(result_fields(runs.front()), runs) + "\n";
  const std::vector<SeedGroup> groups = over_seeds(runs);
  if (!groups.empty())
    return text + fields_table(seed_fields(groups.front().name), groups) +
           "\nMean ± half of its 95 % interval; against: the mean difference with the same seed, with p of a paired "
           "t-test, * below 0.05.\n";
  for (size_t i = 1; i < runs.size(); ++i) text += printable(comparison(runs[i], runs.front()), 1000) + "\n";
  return text;
}

// ---- Curves

namespace {

using Points = std::vector<PlotPoint>;

Points loss_by_epoch(const RunRecord& run) {
  Points points;
  for (const CurvePoint& p : run.train_loss) points.push_back({p.epoch, p.value});
  return points;
}

Points score_by_epoch(const RunRecord& run) {
  Points points;
  for (const CurvePoint& p : run.validation) points.push_back({p.epoch, run.score_scale() * p.value});
  return points;
}

/// Nothing where the time is not known.
Points score_by_time(const RunRecord& run) {
  Points points;
  if (run.train_seconds <= 0 || run.epochs <= 0) return points;
  for (const CurvePoint& p : run.validation) points.push_back({run.seconds(p.epoch), run.score_scale() * p.value});
  return points;
}

Panel with_curves(Panel panel, const std::vector<RunRecord>& runs, Points (*points)(const RunRecord&)) {
  const std::vector<size_t> colors = mechanism_colors(runs);
  for (size_t i = 0; i < runs.size(); ++i) panel.series.push_back({runs[i].name, points(runs[i]), colors[i]});
  return panel;
}

bool is_empty(const Panel& panel) {
  return std::all_of(panel.series.begin(), panel.series.end(), [](const Series& s) { return s.points.empty(); });
}

}  // namespace

std::vector<Panel> run_curve_panels(const std::vector<RunRecord>& runs) {
  const AxisOptions epochs{.whole = true};
  const bool classifies = runs.empty() || runs.front().score == "top1";
  const std::string score = runs.empty() ? "" : runs.front().score_label();
  std::vector<Panel> panels = {
      with_curves({"training loss", "epoch", classifies ? "cross-entropy" : "loss", {}, epochs}, runs, loss_by_epoch),
      with_curves(
          {fmt::format("validation {} by epoch", classifies ? "accuracy" : "score"), "epoch", score, {}, epochs}, runs,
          score_by_epoch),
      with_curves({"the same by time", "seconds of training", score, {}, {.from_zero = true}}, runs, score_by_time)};
  std::erase_if(panels, is_empty);
  return panels;
}

}  // namespace fib::report
