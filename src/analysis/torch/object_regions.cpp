// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/object_regions.h"

#include <fmt/format.h>

#include <stdexcept>

#include "data/open_dataset.h"

namespace fib::analysis {
namespace {

using training::TrainedModel;

int patch_of(const TrainedModel& model) { return static_cast<int>(model.module->dimensions().row.patch); }

ImageSize size_of(const Image& image) { return {image.width, image.height}; }

RegionRule rule_of_boxes(const TrainedModel& model) {
  return {"boxes of the data", [view = model.view, patch = patch_of(model)](const Dataset& images, size_t i) {
            const auto box = images.box(i);
            return box ? patches_in_box(*box, size_of(images.image(i)), view, patch) : PatchRegion();
          }};
}

RegionRule rule_of_foreground(const TrainedModel& model) {
  return {"foreground: half of a patch brighter than a tenth of white",
          [pipeline = Pipeline(model.view), patch = patch_of(model)](const Dataset& images, size_t i) {
            CounterRng unused(0);
            return bright_patches(pipeline.transformed(images.image(i), unused), patch);
          }};
}

RegionRule rule_of_file(const TrainedModel& model, const BoxesByImage& boxes) {
  return {"boxes of a file", [boxes, view = model.view, patch = patch_of(model)](const Dataset& images, size_t i) {
            const auto& numbers = dynamic_cast<const Subset&>(images).indices();
            return patches_in_box(boxes.at(numbers[i]), size_of(images.image(i)), view, patch);
          }};
}

bool has_black_ground(const Dataset& dataset) { return dataset.info().channels == 1; }

}  // namespace

RegionRule region_rule(const TrainedModel& model, const BoxesByImage& boxes) {
  if (!boxes.empty()) return rule_of_file(model, boxes);
  if (model.dataset->box(0)) return rule_of_boxes(model);
  if (has_black_ground(*model.dataset)) return rule_of_foreground(model);
  throw std::invalid_argument(model.data + " has no object boxes and no black ground: give --boxes F.csv");
}

DatasetPtr boxed_images(const TrainedModel& model, const BoxesByImage& boxes, int64_t most) {
  std::vector<size_t> numbers;
  for (const auto& [index, box] : boxes) {
    if (index >= model.dataset->size())
      throw std::invalid_argument(
          fmt::format("--boxes names image {}, {} has 0 to {}", index, model.data, model.dataset->size() - 1));
    if (static_cast<int64_t>(numbers.size()) < most) numbers.push_back(index);
  }
  return std::make_shared<Subset>(model.dataset, std::move(numbers));
}

}  // namespace fib::analysis
