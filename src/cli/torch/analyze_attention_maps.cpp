// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/analyses.h"
#include "cli/commands/trained.h"
#include "cli/output.h"
#include "cli/torch/open_models.h"
#include "report/torch/attention_sheet.h"

namespace fib::cli {
namespace {

using nlohmann::ordered_json;
using report::LookedAt;
using training::TrainedModel;

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

ordered_json looked_json(const TrainedModel& model, const LookedAt& looked) {
  ordered_json layers = ordered_json::array();
  for (int64_t l = 0; l < looked.maps.from_cls.size(0); ++l)
    layers.push_back({{"layer", l + 1},
                      {"from_cls", report::number_rows(looked.maps.from_cls[l])},
                      {"from_patch", report::number_rows(looked.maps.from_patch[l])}});
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
          {"rollout", report::numbers(looked.maps.rollout)},
          {"layers", layers}};
}

}  // namespace

void run(const MapsArguments& given, const Globals& globals) {
  MapsArguments a = given;
  if (!a.out.empty()) report::check_drawing_output(a.out);
  if (a.out.empty() && !a.json) throw std::invalid_argument("nothing to do: give --out FILE, --json or both");
  if (a.indices.empty() && a.files.empty()) a.indices = {0};
  ordered_json list = ordered_json::array();
  std::vector<report::AttentionSheet> sheets;
  const auto models = open_models(a.models, globals.quiet);
  for (const TrainedModel& model : models) {
    for (const LookedAt& looked : look_at_all(a, model)) {
      sheets.push_back(report::attention_sheet(model, looked));
      if (a.json) list.push_back(looked_json(model, looked));
    }
  }
  const report::Drawing drawing = report::draw_attention(sheets);
  if (!a.out.empty()) write_drawing(drawing, a.out);
  if (a.json) {
    print_json(ordered_json{{"rows", list}});
  } else if (!globals.quiet) {
    fmt::print("{}", inputs_text(models));
    say_written(a.out, false, fmt::format("({} images)", sheets.size()));
  }
}

}  // namespace fib::cli
