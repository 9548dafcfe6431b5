// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/paper/tables.h"
#include "analysis/statistics.h"
#include "cli/commands/analyses.h"
#include "cli/commands/trained.h"
#include "cli/output.h"
#include "cli/torch/open_models.h"
#include "report/plot.h"
#include "report/table.h"
#include "report/words.h"

namespace fib::cli {
namespace {

using report::Table;

using nlohmann::ordered_json;

struct DiversityRow {
  std::string name, attention, data;
  ordered_json input;
  int64_t layer;
  analysis::FiveNumbers numbers;
  std::optional<analysis::FiveNumbers> paper;
};

/// The mechanism without its options.
std::string name_of(const std::string& attention) { return AttentionSpec::parse(attention).name; }

/// What people are shown beside a row: several seeds, or options, of one mechanism share the paper's numbers, and the
/// first of them has them.
std::optional<analysis::FiveNumbers> paper_beside(const std::vector<DiversityRow>& rows, const DiversityRow& row) {
  const auto same = [&](const DiversityRow& other) { return name_of(other.attention) == name_of(row.attention); };
  return &*std::ranges::find_if(rows, same) == &row ? row.paper : std::nullopt;
}

DiversityRow measure_diversity(const AnalyzeArguments& a, const training::TrainedModel& model, bool quiet) {
  const int64_t layer = chosen_layer(a, *model.module);
  const DatasetPtr images = chosen_images(a, model);
  std::vector<double> values;
  with_progress(model, images, quiet, [&](const analysis::ImagesDone& done) {
    values = analysis::diversity_over(model, images, layer, done);
  });
  return {model.name,
          model.attention,
          model.data,
          input_json(model.info()),
          layer + 1,
          analysis::five_numbers(std::move(values)),
          paper::head_diversity(name_of(model.attention))};
}

ordered_json five_json(const analysis::FiveNumbers& n) {
  return {{"min", n.min}, {"q1", n.q1}, {"median", n.median}, {"q3", n.q3}, {"max", n.max}};
}

ordered_json diversity_json(const std::vector<DiversityRow>& rows) {
  ordered_json list = ordered_json::array();
  for (const DiversityRow& row : rows) {
    ordered_json entry = {{"name", row.name},   {"attention", row.attention}, {"data", row.data},
                          {"input", row.input}, {"layer", row.layer},         {"images", row.numbers.count}};
    entry.update(five_json(row.numbers));
    entry["mean"] = row.numbers.mean;
    entry["paper"] = row.paper ? five_json(*row.paper) : ordered_json();
    list.push_back(std::move(entry));
  }
  return {{"measure", "head diversity"}, {"unit", "percent"}, {"rows", list}};
}

std::vector<std::string> five_cells(std::string name, const std::string& what, const analysis::FiveNumbers& n) {
  std::vector<std::string> row = {std::move(name), what};
  for (double v : {n.min, n.q1, n.median, n.q3, n.max}) row.push_back(fmt::format("{:.2f}", v));
  return row;
}

std::string diversity_text(const std::vector<DiversityRow>& rows) {
  using enum Table::Align;
  Table table(
      {{"run"}, {"attention"}, {"min", right}, {"Q1", right}, {"median", right}, {"Q3", right}, {"max", right}});
  for (const DiversityRow& row : rows) {
    table.add_row(five_cells(row.name, row.attention, row.numbers));
    if (const auto paper = paper_beside(rows, row))
      table.add_row(five_cells("", "the paper's " + name_of(row.attention), *paper));
  }
  return table.to_string() +
         fmt::format("\nHead diversity in percent, layer {}, {} images of {}. The paper's: ViT-B on CIFAR-10.\n",
                     rows.front().layer, report::grouped(rows.front().numbers.count), rows.front().data);
}

report::BoxPlot box_plot(const std::vector<DiversityRow>& rows) {
  report::BoxPlot plot{"head diversity over images", "percent", {}};
  for (const DiversityRow& row : rows) {
    const auto& n = row.numbers;
    plot.boxes.push_back({row.name, n.min, n.q1, n.median, n.q3, n.max});
    if (const auto p = paper_beside(rows, row))
      plot.boxes.push_back({"paper: " + name_of(row.attention), p->min, p->q1, p->median, p->q3, p->max, true});
  }
  return plot;
}

}  // namespace

void run(const DiversityArguments& a, const Globals& globals) {
  for (const std::string& plot : a.plots) report::check_drawing_output(plot);
  std::vector<DiversityRow> rows;
  const auto models = open_models(a.models, globals.quiet);
  for (const auto& model : models) rows.push_back(measure_diversity(a, model, globals.quiet || a.json));
  if (a.json) {
    print_json(diversity_json(rows));
  } else if (!globals.quiet) {
    fmt::print("{}{}", diversity_text(rows), inputs_text(models));
  }
  for (const std::string& plot : a.plots) write_plot(draw(box_plot(rows)), plot, a.json || globals.quiet);
}

}  // namespace fib::cli
