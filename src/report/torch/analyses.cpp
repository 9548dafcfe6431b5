// SPDX-License-Identifier: Apache-2.0
#include "report/torch/analyses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/paper/tables.h"
#include "report/fields.h"
#include "report/model_report.h"

namespace fib::report {
namespace {

using analysis::FiveNumbers;
using analysis::Robustness;
using nlohmann::ordered_json;
using Sets = analysis::CorruptionSets;
using Robust = std::vector<RobustnessRow>;

/// Which model, and on which images: the first fields of every analysis.
template <class Row>
Fields<Row> model_fields() {
  return {text_field<Row>("name", "run", [](const Row& r) { return r.model.name; }),
          text_field<Row>("attention", "attention", [](const Row& r) { return r.model.attention; }),
          hidden_field<Row>("data", [](const Row& r) { return r.model.data; }),
          hidden_field<Row>("input", [](const Row& r) { return r.model.input; })};
}

/// "1,000 images of cifar10, 500 images of mnist": of every data that the models looked at, as many as `count(row)`.
template <class Row, class Count>
std::string images_of(const std::vector<Row>& rows, const Count& count) {
  std::vector<std::string> texts;
  for (const Row& row : rows) {
    std::string text = fmt::format("{} images of {}", grouped(count(row)), row.model.data);
    if (std::ranges::count(texts, text) == 0) texts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// ---- Diversity

/// The mechanism without its options.
std::string name_of(const std::string& attention) { return AttentionSpec::parse(attention).name; }

Field<DiversityRow> quartile(const char* key, const char* title, double FiveNumbers::*value) {
  return number_field<DiversityRow>(
      key, title, [value](const DiversityRow& r) { return r.numbers.*value; }, 2);
}

ordered_json five_json(const FiveNumbers& n) {
  return {{"min", n.min}, {"q1", n.q1}, {"median", n.median}, {"q3", n.q3}, {"max", n.max}};
}

Fields<DiversityRow> diversity_fields() {
  using Row = DiversityRow;
  return joined_fields(
      model_fields<Row>(),
      {hidden_field<Row>("layer", [](const Row& r) { return r.layer; }),
       hidden_field<Row>("images", [](const Row& r) { return r.numbers.count; }),
       quartile("min", "min", &FiveNumbers::min), quartile("q1", "Q1", &FiveNumbers::q1),
       quartile("median", "median", &FiveNumbers::median), quartile("q3", "Q3", &FiveNumbers::q3),
       quartile("max", "max", &FiveNumbers::max),
       hidden_field<Row>("mean", [](const Row& r) { return r.numbers.mean; }),
       hidden_field<Row>("paper", [](const Row& r) { return r.paper ? five_json(*r.paper) : ordered_json(); })});
}

/// What people are shown beside a row: several seeds, or options, of one mechanism share the paper's numbers, and the
/// first of them has them.
std::optional<FiveNumbers> paper_beside(const std::vector<DiversityRow>& rows, const DiversityRow& row) {
  const auto same = [&](const DiversityRow& other) {
    return name_of(other.model.attention) == name_of(row.model.attention);
  };
  return &*std::ranges::find_if(rows, same) == &row ? row.paper : std::nullopt;
}

// ---- Inductive bias

std::string small_number(double value) { return fmt::format("{:.2e}", value); }

Fields<BiasRow> bias_fields() {
  using Row = BiasRow;
  return joined_fields(model_fields<Row>(),
                       {hidden_field<Row>("layer", [](const Row& r) { return r.layer; }),
                        hidden_field<Row>("regions", [](const Row& r) { return r.regions; }),
                        hidden_field<Row>("images", [](const Row& r) { return r.inside.images; }),
                        number_field<Row>(
                            "heads_averaged.mean", "mean", [](const Row& r) { return r.inside.mean.averaged.mean; }, 5),
                        field<Row>(
                            "heads_averaged.variance", "variance",
                            [](const Row& r) { return r.inside.mean.averaged.variance; }, small_number),
                        hidden_field<Row>("each_head.mean", [](const Row& r) { return r.inside.mean.each.mean; }),
                        field<Row>(
                            "each_head.variance", "variance of each head",
                            [](const Row& r) { return r.inside.mean.each.variance; }, small_number),
                        share_field<Row>(
                            "region_share", "region", [](const Row& r) { return r.inside.region_share; }, 1)});
}

// ---- Corruptions

std::string source_of(const Robustness& r) { return r.source.empty() ? "generated" : r.source; }

/// Of every corruption at every severity.
ordered_json corruptions_json(const Robustness& r) {
  ordered_json rows = ordered_json::array();
  for (const auto& [name, by_severity] : r.top1)
    for (const auto& [severity, top1] : by_severity)
      rows.push_back({{"corruption", name}, {"severity", severity}, {"top1", top1}});
  return rows;
}

Fields<RobustnessRow> robustness_fields() {
  using Row = RobustnessRow;
  return joined_fields(model_fields<Row>(),
                       {hidden_field<Row>("source", [](const Row& r) { return source_of(r.robustness); }),
                        hidden_field<Row>("images", [](const Row& r) { return r.robustness.images; }),
                        hidden_field<Row>("clean_top1", [](const Row& r) { return r.robustness.clean; }),
                        hidden_field<Row>("mean_top1", [](const Row& r) { return r.robustness.mean(); }),
                        hidden_field<Row>("corruptions", [](const Row& r) { return corruptions_json(r.robustness); })});
}

/// A line of the table: an accuracy of all models.
struct AccuracyLine {
  std::string label;
  std::function<double(const Robustness&)> top1;
};

std::vector<AccuracyLine> accuracy_lines(const Sets& sets) {
  std::vector<AccuracyLine> lines = {{"clean", [](const Robustness& r) { return r.clean; }}};
  for (const std::string& name : sets.corruptions)
    lines.push_back({name, [name](const Robustness& r) { return r.mean_of(name); }});
  for (const int64_t s : sets.severities)
    lines.push_back({fmt::format("all, severity {}", s), [s](const Robustness& r) { return r.mean_at(s); }});
  lines.push_back({"mean", [](const Robustness& r) { return r.mean(); }});
  return lines;
}

/// A column for each model.
Fields<AccuracyLine> accuracy_fields(const Robust& rows) {
  Fields<AccuracyLine> fields = {shown_field<AccuracyLine>(
      "top-1", [](const AccuracyLine& l) { return l.label; }, Table::Align::left)};
  for (const RobustnessRow& row : rows)
    fields.push_back(share_field<AccuracyLine>(
        "", row.model.name, [&r = row.robustness](const AccuracyLine& l) { return l.top1(r); }, 2));
  return fields;
}

/// Accuracy by severity: `top1(robustness, severity)` of each model.
template <class Top1>
Panel severity_panel(const Robust& rows, const Sets& sets, const std::string& title, const Top1& top1) {
  Panel panel{.title = title, .x_label = "severity", .y_label = "top-1, percent", .series = {}};
  panel.x.whole = true;
  panel.y.from_zero = true;
  for (const RobustnessRow& row : rows) {
    Series series{row.model.name, {}};
    for (const int64_t s : sets.severities)
      series.points.push_back({static_cast<double>(s), 100 * top1(row.robustness, s)});
    panel.series.push_back(std::move(series));
  }
  return panel;
}

}  // namespace

AnalyzedModel AnalyzedModel::of(const training::TrainedModel& model) {
  return {model.name, model.attention, model.data, input_json(model.info())};
}

DiversityRow DiversityRow::of(const training::TrainedModel& model, int64_t layer, std::vector<double> diversities) {
  return {AnalyzedModel::of(model), layer, analysis::five_numbers(std::move(diversities)),
          paper::head_diversity(name_of(model.attention))};
}

ordered_json diversity_json(const std::vector<DiversityRow>& rows) {
  return {{"measure", "head diversity"}, {"unit", "percent"}, {"rows", fields_json(diversity_fields(), rows)}};
}

std::string diversity_text(const std::vector<DiversityRow>& rows) {
  std::vector<DiversityRow> lines;
  for (const DiversityRow& row : rows) {
    lines.push_back(row);
    if (const auto paper = paper_beside(rows, row))
      lines.push_back({{"", "the paper's " + name_of(row.model.attention), "", {}}, 0, *paper, {}});
  }
  return fields_table(diversity_fields(), lines) +
         fmt::format("\nHead diversity in percent, layer {}, {}. The paper's: ViT-B on CIFAR-10.\n", rows.front().layer,
                     images_of(rows, [](const DiversityRow& row) { return row.numbers.count; }));
}

BoxPlot diversity_plot(const std::vector<DiversityRow>& rows) {
  BoxPlot plot{"head diversity over images", "percent", {}};
  for (const DiversityRow& row : rows) {
    const FiveNumbers& n = row.numbers;
    plot.boxes.push_back({row.model.name, n.min, n.q1, n.median, n.q3, n.max});
    if (const auto p = paper_beside(rows, row))
      plot.boxes.push_back({"paper: " + name_of(row.model.attention), p->min, p->q1, p->median, p->q3, p->max, true});
  }
  return plot;
}

ordered_json bias_json(const std::vector<BiasRow>& rows) {
  return {{"rows", fields_json(bias_fields(), rows)},
          {"paper",
           {{"full", *paper::inside_variance("full")}, {"fibottention", *paper::inside_variance("fibottention")}}}};
}

std::string bias_text(const std::vector<BiasRow>& rows) {
  const BiasRow& first = rows.front();
  return fields_table(bias_fields(), rows) +
         fmt::format(
             "\nAttention from patches of the object to patches of the object, layer {}, heads averaged, {}.\n"
             "Regions: {}.\nThe paper's variances (ViT-B, 100 images): full {:.2e}, fibottention {:.2e}; it names "
             "neither\nlayer nor treatment of heads.\n",
             first.layer, images_of(rows, [](const BiasRow& row) { return row.inside.images; }), first.regions,
             *paper::inside_variance("full"), *paper::inside_variance("fibottention"));
}

ordered_json robustness_json(const Robust& rows, const Sets& sets) {
  return {{"seed", sets.seed}, {"rows", fields_json(robustness_fields(), rows)}};
}

std::string robustness_text(const Robust& rows, const Sets& sets) {
  const Robustness& first = rows.front().robustness;
  return fields_table(accuracy_fields(rows), accuracy_lines(sets)) +
         fmt::format("\n{}, {}. A corruption's line is its mean over severities {}.\n",
                     images_of(rows, [](const RobustnessRow& row) { return row.robustness.images; }),
                     first.source.empty() ? fmt::format("corrupted here with seed {}", sets.seed)
                                          : "corrupted images from " + first.source,
                     fmt::join(sets.severities, " "));
}

LinePlot severity_plot(const Robust& rows, const Sets& sets) {
  return {"accuracy on corrupted images",
          {severity_panel(rows, sets, "mean of all corruptions",
                          [](const Robustness& r, int64_t s) { return r.mean_at(s); })}};
}

LinePlot corruption_panels(const Robust& rows, const Sets& sets) {
  LinePlot plot{"accuracy by corruption and severity", {}, 5};
  for (const std::string& name : sets.corruptions)
    plot.panels.push_back(
        severity_panel(rows, sets, name, [&](const Robustness& r, int64_t s) { return r.top1.at(name).at(s); }));
  return plot;
}

BarPlot corruption_plot(const Robust& rows, const Sets& sets) {
  BarPlot plot{"accuracy by corruption, mean of severities", "top-1, percent", sets.corruptions, {}};
  for (const RobustnessRow& row : rows) {
    BarSeries series{row.model.name, {}};
    for (const std::string& name : sets.corruptions) series.values.push_back(100 * row.robustness.mean_of(name));
    plot.series.push_back(std::move(series));
  }
  return plot;
}

ordered_json looked_json(const training::TrainedModel& model, const LookedAt& looked) {
  ordered_json layers = ordered_json::array();
  for (int64_t l = 0; l < looked.maps.from_cls.size(0); ++l)
    layers.push_back({{"layer", l + 1},
                      {"from_cls", number_rows(looked.maps.from_cls[l])},
                      {"from_patch", number_rows(looked.maps.from_patch[l])}});
  const attention::Grid grid = model.module->dimensions().grid();
  return {{"name", model.name},
          {"attention", model.attention},
          {"input", input_json(model.info())},
          {"image", looked.name},
          {"label", looked.label ? ordered_json(*looked.label) : ordered_json()},
          {"predicted", looked.predicted},
          {"probability", looked.probability},
          {"grid", {grid.height, grid.width}},
          {"patch", looked.patch},
          {"rollout", numbers(looked.maps.rollout)},
          {"layers", layers}};
}

}  // namespace fib::report
