// SPDX-License-Identifier: Apache-2.0
#include "report/ablation_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/ablations/plan.h"
#include "report/fields.h"
#include "report/plot.h"
#include "report/run_comparison.h"
#include "report/text.h"

namespace fib::report {
namespace {

using ablations::Ablation;
using ablations::AblationRow;
using ablations::Run;
using ablations::Scale;
using nlohmann::ordered_json;

const std::string& data_name(const std::string& word) { return ablations::find_data(word).name; }

/// In the order of the plan.
std::vector<std::string> data_of(const std::vector<Run>& runs) {
  std::vector<std::string> list;
  for (const Run& run : runs)
    if (std::find(list.begin(), list.end(), run.data) == list.end()) list.push_back(run.data);
  return list;
}

const Run& first_run(const std::vector<Run>& runs, size_t row) {
  return *std::find_if(runs.begin(), runs.end(), [&](const Run& run) { return run.row == row; });
}

/// Their names, divided by commas.
std::string models_of(const std::vector<Run>& runs) {
  std::vector<std::string> names;
  for (const Run& run : runs)
    if (std::find(names.begin(), names.end(), run.recipe.model.name) == names.end())
      names.push_back(run.recipe.model.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string measured_text(const analysis::Estimate& e) {
  if (e.count == 0) return "–";
  if (e.count == 1) return fmt::format("{:.2f}", e.mean);
  return fmt::format("{:.2f} ± {:.2f}", e.mean, e.deviation);
}

/// As it is trained: with the option that was set where pairs were matched.
std::string attention_of(const Ablation& a, const std::vector<Run>& runs, size_t row) {
  const auto& matched = first_run(runs, row).matched;
  return matched ? matched->attention.to_string() : a.rows[row].attention;
}

ordered_json wanted_pairs(const std::vector<Run>& runs, size_t row) {
  const auto& matched = first_run(runs, row).matched;
  return matched ? ordered_json(matched->wanted) : ordered_json();
}

/// Of the rows whose pairs were matched, what they were matched to: one number for each model.
std::string matched_note(const std::vector<Run>& runs) {
  std::set<int64_t> wanted;
  for (const Run& run : runs)
    if (run.matched) wanted.insert(run.matched->wanted);
  std::vector<std::string> numbers;
  for (const int64_t pairs : wanted) numbers.push_back(grouped(pairs));
  return numbers.empty() ? "" : fmt::format(" Matched as nearly as can be to {}.", fmt::join(numbers, " and "));
}

bool has_seeds(const std::vector<Run>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const Run& run) { return run.recipe.run.seed != 0; });
}

ordered_json measured_json(const Ablation& a, const std::vector<Run>& runs, size_t row) {
  ordered_json result = ordered_json::object();
  for (const std::string& data : data_of(runs)) {
    const analysis::Estimate e = ablations::measured(runs, row, data);
    const size_t baseline = ablations::baseline_row(a, row);
    const auto test = ablations::compared(runs, row, baseline, data);
    ordered_json& entry = result[data];
    entry = {{"runs", e.count}, {"mean", e.count > 0 ? ordered_json(e.mean) : ordered_json()}};
    if (e.count > 1) entry.update({{"deviation", e.deviation}, {"half_width_95", e.half_width}});
    if (test && row != baseline) entry.update({{"difference", test->difference}, {"p", test->p}});
  }
  return result;
}

/// NaN where the paper has no number.
double paper_value(const AblationRow& row, const std::string& data) {
  const auto found = row.paper.find(data);
  return found != row.paper.end() ? found->second : std::nan("");
}

/// As printed: one digit behind the point, or two.
std::string paper_text(const AblationRow& row, const std::string& data) {
  if (!row.paper.contains(data)) return kNoValue;
  std::string text = fixed(row.paper.at(data), 2);
  if (text.back() == '0') text.pop_back();
  return text;
}

std::string share_text(double share) { return fixed(100 * share, 2) + " %"; }

bool has_paper_shares(const Ablation& a) {
  return std::ranges::any_of(a.rows, [](const AblationRow& row) { return row.paper_pruned.has_value(); });
}

/// What the model computes and prunes, and beside it the paper's share where its table has one.
std::vector<std::string> pruned_cells(const Ablation& a, const AblationRow& row, const models::Cost& cost) {
  std::vector<std::string> cells = {grouped(cost.patch_pairs), share_text(cost.pruning_ratio),
                                    share_text(cost.pruning_ratio_by_cost)};
  if (has_paper_shares(a)) cells.push_back(row.paper_pruned ? share_text(*row.paper_pruned) : kNoValue);
  return cells;
}

bool has_paper(const Ablation& a, const std::string& data) {
  return std::any_of(a.rows.begin(), a.rows.end(), [&](const AblationRow& row) { return row.paper.contains(data); });
}

/// The data that the paper's table has.
std::vector<std::string> paper_data(const Ablation& a) {
  std::vector<std::string> words;
  for (const ablations::AblationData& data : ablations::ablation_data())
    if (has_paper(a, data.word)) words.push_back(data.word);
  return words;
}

bool has_axis(const Ablation& a) {
  return std::any_of(a.rows.begin(), a.rows.end(), [](const AblationRow& row) { return row.x.has_value(); });
}

/// Where a row stands on the axis: a row without a place of its own is a line from end to end.
std::vector<double> places(const Ablation& a, const AblationRow& row) {
  if (row.x) return {*row.x};
  std::vector<double> all;
  for (const AblationRow& other : a.rows)
    if (other.x) all.push_back(*other.x);
  const auto [first, last] = std::minmax_element(all.begin(), all.end());
  return {*first, *last};
}

/// `value` of each row as curves, one per series of the file.
template <class Value>
Panel panel(const Ablation& a, const std::string& title, const Value& value) {
  Panel result{.title = title, .x_label = a.x_label, .y_label = a.measure, .series = {}};
  std::map<std::string, size_t> place;
  for (size_t r = 0; r < a.rows.size(); ++r) {
    const auto [found, added] = place.try_emplace(a.rows[r].series, result.series.size());
    if (added) result.series.push_back({a.rows[r].series, {}});
    const double y = value(r);
    if (std::isnan(y)) continue;
    for (double x : places(a, a.rows[r])) result.series[found->second].points.push_back({x, y, ""});
  }
  return result;
}

void draw_curves(const Ablation& a, const std::vector<Run>& runs, const std::string& path) {
  LinePlot plot{a.title, {}};
  for (const std::string& data : data_of(runs))
    plot.panels.push_back(panel(a, "here, " + data_name(data), [&](size_t r) {
      const analysis::Estimate e = ablations::measured(runs, r, data);
      return e.count > 0 ? e.mean : std::nan("");
    }));
  if (has_paper(a, "c10"))
    plot.panels.push_back(panel(a, "the paper, CIFAR-10", [&](size_t r) { return paper_value(a.rows[r], "c10"); }));
  write_drawing(draw(plot), path);
}

void draw_dots(const Ablation& a, const std::vector<Run>& runs, const std::string& path) {
  BarPlot plot{a.title, a.measure, {}, {}, true};
  for (const AblationRow& row : a.rows) plot.categories.push_back(row.label);
  for (const std::string& data : data_of(runs)) {
    BarSeries series{"here, " + data_name(data), {}};
    for (size_t r = 0; r < a.rows.size(); ++r) {
      const analysis::Estimate e = ablations::measured(runs, r, data);
      series.values.push_back(e.count > 0 ? e.mean : std::nan(""));
    }
    plot.series.push_back(std::move(series));
  }
  for (const std::string& data : paper_data(a)) {
    BarSeries series{"the paper, " + data_name(data), {}};
    for (const AblationRow& row : a.rows) series.values.push_back(paper_value(row, data));
    plot.series.push_back(std::move(series));
  }
  write_drawing(draw(plot), path);
}

ordered_json paper_json(const Ablation& a, const AblationRow& row) {
  ordered_json values = ordered_json::object();
  for (const std::string& data : paper_data(a))
    values[data] = row.paper.contains(data) ? ordered_json(row.paper.at(data)) : ordered_json();
  return values;
}

}  // namespace

std::string reproduced_text(const Ablation& a, const std::vector<Run>& runs, Scale scale) {
  using enum Table::Align;
  std::vector<Table::Column> columns = {
      {"row"}, {"attention"}, {"pairs", right}, {"pruned, mean", right}, {"by cost", right}};
  if (has_paper_shares(a)) columns.push_back({"the paper's", right});
  const std::string rival = a.backbones.empty() ? a.rows[ablations::baseline_row(a, 0)].label : "full attention";
  for (const std::string& data : data_of(runs)) {
    columns.push_back({"here, " + data_name(data), right});
    if (has_seeds(runs)) columns.push_back({"against " + rival, right});
  }
  const std::vector<std::string> in_paper = paper_data(a);
  for (const std::string& data : in_paper)
    columns.push_back({(data == in_paper.front() ? "paper, " : "") + data_name(data), right});
  Table table(std::move(columns));
  for (size_t r = 0; r < a.rows.size(); ++r) {
    const AblationRow& row = a.rows[r];
    const size_t baseline = ablations::baseline_row(a, r);
    std::vector<std::string> cells = {row.label, attention_of(a, runs, r)};
    for (std::string& cell : pruned_cells(a, row, ablations::image_cost(first_run(runs, r).recipe)))
      cells.push_back(std::move(cell));
    for (const std::string& data : data_of(runs)) {
      cells.push_back(measured_text(ablations::measured(runs, r, data)));
      if (has_seeds(runs))
        cells.push_back(r == baseline ? "" : difference_text(ablations::compared(runs, r, baseline, data)));
    }
    for (const std::string& data : in_paper) cells.push_back(paper_text(row, data));
    table.add_row(std::move(cells));
  }
  const int64_t epochs = runs.front().recipe.schedule.epochs;
  const char* const seeds = has_seeds(runs)
                                ? " Mean ± deviation over seeds; against: the mean difference with the same "
                                  "seed, with p of a paired t-test, * below 0.05."
                                : "";
  return fmt::format(
      "{} (§ {})\n\n{}\nMeasured: {}. Here: {}, {} epoch{}, scale {}; the paper: {}.{}\n"
      "Pairs: of patch tokens, in all layers that take the attention, of one image.{} "
      "Pruned: mean of these layers, and by cost: each weighing what its dense attention costs.\n{}",
      a.title, a.section, table.to_string(), a.measure, models_of(runs), epochs, epochs == 1 ? "" : "s", word_of(scale),
      a.setting, seeds, matched_note(runs), a.note.empty() ? "" : a.note + "\n");
}

ordered_json reproduced_json(const Ablation& a, const std::vector<Run>& runs, Scale scale) {
  ordered_json rows = ordered_json::array();
  for (size_t r = 0; r < a.rows.size(); ++r) {
    ordered_json list = ordered_json::array();
    for (const Run& run : runs) {
      if (run.row != r || run.preparation) continue;
      list.push_back({{"data", run.data},
                      {"seed", run.recipe.run.seed},
                      {"directory", run.directory.string()},
                      {"top1", or_null(run.top1)},
                      {"seconds", or_null(run.seconds)}});
    }
    const models::Cost cost = ablations::image_cost(first_run(runs, r).recipe);
    rows.push_back({{"label", a.rows[r].label},
                    {"attention", attention_of(a, runs, r)},
                    {"pairs", cost.patch_pairs},
                    {"pairs_wanted", wanted_pairs(runs, r)},
                    {"pruning_ratio", cost.pruning_ratio},
                    {"pruning_ratio_by_cost", cost.pruning_ratio_by_cost},
                    {"paper_pruning_ratio", or_null(a.rows[r].paper_pruned)},
                    {"runs", list},
                    {"measured", measured_json(a, runs, r)},
                    {"paper", paper_json(a, a.rows[r])}});
  }
  return {{"name", a.name},    {"title", a.title}, {"scale", word_of(scale)},
          {"unit", "percent"}, {"rows", rows},     {"note", a.note}};
}

void draw_reproduced(const Ablation& a, const std::vector<Run>& runs, const std::string& path) {
  if (has_axis(a))
    draw_curves(a, runs, path);
  else
    draw_dots(a, runs, path);
}

}  // namespace fib::report
