// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/analyze_inductive_bias.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/torch/analyze_options.h"
#include "data/subset.h"
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

/// What decides the region, in words, and the rule itself.
struct RegionRule {
  std::string words;
  analysis::RegionOf region;
};

int patch_of(const training::TrainedModel& subject) { return static_cast<int>(subject.module->dimensions().row.patch); }

ImageSize size_of(const Image& image) { return {image.width, image.height}; }

RegionRule rule_of_boxes(const training::TrainedModel& subject) {
  return {"boxes of the data", [view = subject.view, patch = patch_of(subject)](const Dataset& images, size_t i) {
            const auto box = images.box(i);
            return box ? patches_in_box(*box, size_of(images.image(i)), view, patch) : PatchRegion();
          }};
}

RegionRule rule_of_foreground(const training::TrainedModel& subject) {
  return {"foreground: half of a patch brighter than a tenth of white",
          [pipeline = Pipeline(subject.view), patch = patch_of(subject)](const Dataset& images, size_t i) {
            CounterRng unused(0);
            return bright_patches(pipeline.transformed(images.image(i), unused), patch);
          }};
}

RegionRule rule_of_file(const training::TrainedModel& subject, const std::map<size_t, ObjectBox>& boxes) {
  return {"boxes of a file", [boxes, view = subject.view, patch = patch_of(subject)](const Dataset& images, size_t i) {
            const auto& numbers = dynamic_cast<const Subset&>(images).indices();
            return patches_in_box(boxes.at(numbers[i]), size_of(images.image(i)), view, patch);
          }};
}

bool has_black_ground(const Dataset& dataset) { return dataset.info().channels == 1; }

RegionRule rule_of_data(const training::TrainedModel& subject) {
  if (subject.dataset->box(0)) return rule_of_boxes(subject);
  if (has_black_ground(*subject.dataset)) return rule_of_foreground(subject);
  throw std::invalid_argument(subject.data + " has no object boxes and no black ground: give --boxes F.csv");
}

/// The images that the file names, the first `most` of them.
DatasetPtr boxed_images(const training::TrainedModel& subject, const std::map<size_t, ObjectBox>& boxes, int64_t most) {
  std::vector<size_t> numbers;
  for (const auto& [index, box] : boxes) {
    if (index >= subject.dataset->size())
      throw std::invalid_argument(
          fmt::format("--boxes names image {}, {} has 0 to {}", index, subject.data, subject.dataset->size() - 1));
    if (static_cast<int64_t>(numbers.size()) < most) numbers.push_back(index);
  }
  return std::make_shared<Subset>(subject.dataset, std::move(numbers));
}

BiasRow measure_bias(const BiasArguments& a, const training::TrainedModel& subject, bool quiet) {
  const int64_t layer = chosen_layer(a, *subject.module);
  const auto boxes = a.boxes.empty() ? std::map<size_t, ObjectBox>() : read_boxes(a.boxes);
  const DatasetPtr images = boxes.empty() ? chosen_images(a, subject) : boxed_images(subject, boxes, a.images);
  const RegionRule rule = boxes.empty() ? rule_of_data(subject) : rule_of_file(subject, boxes);
  BiasRow row{subject.name, subject.attention, subject.data, rule.words, input_json(subject), layer + 1, {}};
  with_progress(subject, images, quiet, [&](const analysis::ImagesDone& done) {
    row.inside = analysis::inside_over(subject, images, layer, rule.region, done);
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

void run(const BiasArguments& a, const Globals& globals) {
  std::vector<BiasRow> rows;
  const auto subjects = open_subjects(a.subjects, globals.quiet);
  for (const auto& subject : subjects) rows.push_back(measure_bias(a, subject, globals.quiet || a.json));
  if (a.json) {
    print_json(bias_json(rows));
  } else if (!globals.quiet) {
    fmt::print("{}{}", bias_text(rows), inputs_text(subjects));
  }
}

const TorchRunner<BiasArguments> analyze_inductive_bias_runner(run);

}  // namespace
}  // namespace fib::cli
