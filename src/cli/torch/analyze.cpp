// SPDX-License-Identifier: Apache-2.0
// fib analyze: the models that are asked for, measured one after the other, and what report/torch/analyses.h says of
// it.
#include <fmt/format.h>

#include "cli/commands/analyses.h"
#include "cli/progress.h"
#include "cli/torch/open_models.h"
#include "data/corruptions/corruption.h"
#include "report/torch/analyses.h"

namespace fib::cli {
namespace {

using nlohmann::ordered_json;
using report::LookedAt;
using training::TrainedModel;

/// The layer from 0. Throws std::invalid_argument unless the model has it.
int64_t chosen_layer(const AnalyzeArguments& a, const models::Model& model) {
  const auto depth = static_cast<int64_t>(model.attentions().size());
  if (a.layer > depth)
    throw std::invalid_argument(
        fmt::format("--layer {}: {} has layers 1 to {}", a.layer, model.dimensions().row.name, depth));
  return (a.layer == 0 ? depth : a.layer) - 1;
}

/// The images of a model that are looked at.
DatasetPtr chosen_images(const AnalyzeArguments& a, const TrainedModel& model) {
  return training::evenly_chosen(model.dataset, static_cast<size_t>(a.images));
}

/// Calls `work` with something that shows a bar while images are done.
void with_progress(const TrainedModel& model, const DatasetPtr& images, bool quiet,
                   const std::function<void(const analysis::ImagesDone&)>& work) {
  ProgressBar progress("images", static_cast<int64_t>(images->size()), quiet);
  work([&](int64_t done) { progress.show(done, model.name); });
}

report::DiversityRow measure(const DiversityArguments& a, const TrainedModel& model, bool quiet) {
  const int64_t layer = chosen_layer(a, *model.module);
  const DatasetPtr images = chosen_images(a, model);
  std::vector<double> values;
  with_progress(model, images, quiet, [&](const analysis::ImagesDone& done) {
    values = analysis::diversity_over(model, images, layer, done);
  });
  return report::DiversityRow::of(model, layer + 1, std::move(values));
}

report::BiasRow measure(const BiasArguments& a, const TrainedModel& model, bool quiet) {
  const int64_t layer = chosen_layer(a, *model.module);
  const analysis::BoxesByImage boxes = a.boxes.empty() ? analysis::BoxesByImage() : read_boxes(a.boxes);
  const DatasetPtr images = boxes.empty() ? chosen_images(a, model) : analysis::boxed_images(model, boxes, a.images);
  const analysis::RegionRule rule = analysis::region_rule(model, boxes);
  report::BiasRow row{report::AnalyzedModel::of(model), rule.description, layer + 1, {}};
  with_progress(model, images, quiet, [&](const analysis::ImagesDone& done) {
    row.inside = analysis::inside_over(model, images, layer, rule.region, done);
  });
  return row;
}

report::RobustnessRow measure(const CorruptionArguments& a, const TrainedModel& model, bool quiet) {
  ProgressBar progress("sets", static_cast<int64_t>(a.sets.corruptions.size() * a.sets.severities.size()), quiet);
  const auto tell = [&](int64_t done, const std::string& corruption) {
    progress.show(done, model.name + ", " + corruption);
  };
  return {report::AnalyzedModel::of(model), analysis::measure_robustness(model, a.sets, tell)};
}

/// A row for each model, and the lines about their inputs.
template <class Row, class Arguments>
std::pair<std::vector<Row>, std::string> measure_all(const Arguments& a, const Globals& globals) {
  std::vector<Row> rows;
  const auto models = open_models(a.models, globals.quiet);
  for (const TrainedModel& model : models) rows.push_back(measure(a, model, globals.quiet || a.json));
  return {std::move(rows), inputs_text(models)};
}

void complete(CorruptionArguments& a) {
  a.sets.images = a.images;
  if (a.sets.corruptions.empty()) a.sets.corruptions = corruptions::names();
  for (const std::string& name : a.sets.corruptions) corruptions::index_of(name);
  if (a.sets.severities.empty()) a.sets.severities = {1, 2, 3, 4, 5};
}

void check_plots(std::vector<std::string> plots) {
  for (const std::string& plot : plots)
    if (!plot.empty()) report::check_drawing_output(plot);
}

std::optional<int64_t> chosen_patch(const MapsArguments& a, const models::Model& model) {
  if (a.patch.empty()) return std::nullopt;
  const attention::Grid grid = model.dimensions().grid();
  if (a.patch.size() != 2 || a.patch[0] > grid.height || a.patch[1] > grid.width)
    throw std::invalid_argument(fmt::format("--patch {}: accepted is ROW,COLUMN up to {},{}", fmt::join(a.patch, ","),
                                            grid.height, grid.width));
  return (a.patch[0] - 1) * grid.width + a.patch[1] - 1;
}

LookedAt from_dataset(const TrainedModel& model, int64_t index, std::optional<int64_t> patch) {
  const auto i = static_cast<size_t>(index);
  if (i >= model.dataset->size())
    throw std::invalid_argument(
        fmt::format("--index {}: {} has images 0 to {}", index, model.data, model.dataset->size() - 1));
  LookedAt looked = report::look_at(model, report::shown(model, *model.dataset, i), patch);
  looked.name = fmt::format("image {}", index);
  looked.label = model.dataset->label(i);
  return looked;
}

std::vector<LookedAt> look_at_all(const MapsArguments& a, const TrainedModel& model) {
  const auto patch = chosen_patch(a, *model.module);
  std::vector<LookedAt> list;
  for (int64_t index : a.indices) list.push_back(from_dataset(model, index, patch));
  for (const std::string& file : a.files) {
    list.push_back(report::look_at(model, read_sample(file, model.view.clip), patch));
    list.back().name = file;
  }
  return list;
}

}  // namespace

void run(const DiversityArguments& a, const Globals& globals) {
  check_plots(a.plots);
  const auto [rows, inputs] = measure_all<report::DiversityRow>(a, globals);
  show(
      globals, a.json, [&r = rows] { return diversity_json(r); },
      [&r = rows, &i = inputs] { return diversity_text(r) + i; });
  for (const std::string& plot : a.plots) write_plot(draw(diversity_plot(rows)), plot, a.json || globals.quiet);
}

void run(const BiasArguments& a, const Globals& globals) {
  const auto [rows, inputs] = measure_all<report::BiasRow>(a, globals);
  show(
      globals, a.json, [&r = rows] { return bias_json(r); }, [&r = rows, &i = inputs] { return bias_text(r) + i; });
}

void run(const CorruptionArguments& given, const Globals& globals) {
  CorruptionArguments a = given;
  complete(a);
  check_plots(a.plots);
  check_plots({a.bars, a.panels});
  const auto [rows, inputs] = measure_all<report::RobustnessRow>(a, globals);
  show(
      globals, a.json, [&r = rows, &a] { return robustness_json(r, a.sets); },
      [&r = rows, &i = inputs, &a] { return robustness_text(r, a.sets) + i; });
  const bool quiet = a.json || globals.quiet;
  for (const std::string& plot : a.plots) write_plot(draw(severity_plot(rows, a.sets)), plot, quiet);
  if (!a.bars.empty()) write_plot(draw(corruption_plot(rows, a.sets)), a.bars, quiet);
  if (!a.panels.empty()) write_plot(draw(corruption_panels(rows, a.sets)), a.panels, quiet);
}

void run(const MapsArguments& given, const Globals& globals) {
  MapsArguments a = given;
  check_plots({a.out});
  if (a.out.empty() && !a.json) throw std::invalid_argument("nothing to do: give --out FILE, --json or both");
  if (a.indices.empty() && a.files.empty()) a.indices = {0};
  ordered_json json = {{"rows", ordered_json::array()}};
  std::vector<report::AttentionSheet> sheets;
  const auto models = open_models(a.models, globals.quiet);
  for (const TrainedModel& model : models) {
    for (const LookedAt& looked : look_at_all(a, model)) {
      sheets.push_back(report::attention_sheet(model, looked));
      if (a.json) json["rows"].push_back(report::looked_json(model, looked));
    }
  }
  const report::Drawing drawing = report::draw_attention(sheets);
  if (!a.out.empty()) write_drawing(drawing, a.out);
  show(
      globals, a.json, [&] { return json; }, [&] { return inputs_text(models); });
  if (!a.json) say_written(a.out, globals.quiet, fmt::format("({} images)", sheets.size()));
}

}  // namespace fib::cli
