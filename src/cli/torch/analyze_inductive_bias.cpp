// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/torch/object_regions.h"
#include "cli/commands/analyses.h"
#include "cli/commands/trained.h"
#include "cli/output.h"
#include "cli/torch/open_models.h"
#include "report/table.h"
#include "report/words.h"

namespace fib::cli {
namespace {

using report::Table;

using nlohmann::ordered_json;

/// The paper's variances inside objects, over 100 images (ViT-B).
constexpr double kPaperFull = 8.76e-5, kPaperFibottention = 2.33e-5;

struct BiasRow {
  std::string name, attention, data, regions;
  ordered_json input;
  int64_t layer;
  analysis::InsideOver inside;
};

BiasRow measure_bias(const BiasArguments& a, const training::TrainedModel& model, bool quiet) {
  const int64_t layer = chosen_layer(a, *model.module);
  const analysis::BoxesByImage boxes = a.boxes.empty() ? analysis::BoxesByImage() : read_boxes(a.boxes);
  const DatasetPtr images = boxes.empty() ? chosen_images(a, model) : analysis::boxed_images(model, boxes, a.images);
  const analysis::RegionRule rule = analysis::region_rule(model, boxes);
  BiasRow row{model.name, model.attention, model.data, rule.description, input_json(model.info()), layer + 1, {}};
  with_progress(model, images, quiet, [&](const analysis::ImagesDone& done) {
    row.inside = analysis::inside_over(model, images, layer, rule.region, done);
  });
  return row;
}

ordered_json pair_json(const analysis::MeanAndVariance& m) { return {{"mean", m.mean}, {"variance", m.variance}}; }

ordered_json bias_json(const std::vector<BiasRow>& rows) {
  ordered_json list = ordered_json::array();
  for (const BiasRow& row : rows) {
    list.push_back({{"name", row.name},
                    {"attention", row.attention},
                    {"data", row.data},
                    {"input", row.input},
                    {"layer", row.layer},
                    {"regions", row.regions},
                    {"images", row.inside.images},
                    {"region_share", row.inside.region_share},
                    {"heads_averaged", pair_json(row.inside.mean.averaged)},
                    {"each_head", pair_json(row.inside.mean.each)}});
  }
  return {{"rows", list}, {"paper", {{"full", kPaperFull}, {"fibottention", kPaperFibottention}}}};
}

std::string bias_text(const std::vector<BiasRow>& rows) {
  using enum Table::Align;
  Table table({{"run"},
               {"attention"},
               {"mean", right},
               {"variance", right},
               {"variance of each head", right},
               {"region", right}});
  for (const BiasRow& row : rows) {
    const auto& inside = row.inside.mean;
    table.add_row({row.name, row.attention, fmt::format("{:.5f}", inside.averaged.mean),
                   fmt::format("{:.2e}", inside.averaged.variance), fmt::format("{:.2e}", inside.each.variance),
                   fmt::format("{:.1f} %", 100 * row.inside.region_share)});
  }
  const BiasRow& first = rows.front();
  return table.to_string() +
         fmt::format(
             "\nAttention from patches of the object to patches of the object, layer {}, heads averaged, {} images.\n"
             "Regions: {}.\nThe paper's variances (ViT-B, 100 images): full {:.2e}, fibottention {:.2e}; it names "
             "neither\nlayer nor treatment of heads.\n",
             first.layer, report::grouped(first.inside.images), first.regions, kPaperFull, kPaperFibottention);
}

}  // namespace

void run(const BiasArguments& a, const Globals& globals) {
  std::vector<BiasRow> rows;
  const auto models = open_models(a.models, globals.quiet);
  for (const auto& model : models) rows.push_back(measure_bias(a, model, globals.quiet || a.json));
  if (a.json) {
    print_json(bias_json(rows));
  } else if (!globals.quiet) {
    fmt::print("{}{}", bias_text(rows), inputs_text(models));
  }
}

}  // namespace fib::cli
