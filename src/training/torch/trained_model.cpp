// SPDX-License-Identifier: Apache-2.0
#include "training/torch/trained_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "data/open_dataset.h"
#include "models/torch/weights.h"
#include "training/recipe/model_options.h"
#include "training/run/directory.h"
#include "training/torch/classification.h"

namespace fib::training {
namespace {

/// The best weights of a search are what it leaves; a run without a validation set has only its last ones.
std::filesystem::path best_of(const RunFiles& files, const Recipe& recipe) {
  if (recipe.prune_ratio > 0) return files.pruned();
  if (recipe.validation_fraction > 0) return files.best();
  return recipe.ema > 0 ? files.ema() : files.model();
}

/// A file that should be there and is not is never replaced by another.
std::filesystem::path weights_of(const RunFiles& files, const Recipe& recipe, const std::string& checkpoint) {
  const std::map<std::string, std::filesystem::path> known = {
      {"best", best_of(files, recipe)}, {"model", files.model()}, {"ema", files.ema()}};
  const std::filesystem::path& file = known.at(checkpoint);
  if (std::filesystem::exists(file)) return file;
  std::string others;
  for (const auto& [name, other] : known)
    if (name != checkpoint && std::filesystem::exists(other)) others += (others.empty() ? "" : ", ") + name;
  throw std::runtime_error(fmt::format("the run in '{}' has no {}; --checkpoint accepts what it has: {}",
                                       files.root.string(), file.filename().string(),
                                       others.empty() ? "nothing yet" : others));
}

std::string name_of(const std::filesystem::path& directory) {
  return directory.has_filename() ? directory.filename() : directory.parent_path().filename();
}

}  // namespace

std::unique_ptr<Loader> TrainedModel::loader(const DatasetPtr& images) const {
  LoaderOptions options;
  options.sampler = {.batch = static_cast<size_t>(batch), .shuffle = false, .drop_last = false};
  options.workers = default_workers();
  return std::make_unique<Loader>(images, Pipeline(view), options);
}

TrainedModel open_run(const std::filesystem::path& directory, const std::string& checkpoint, const std::string& data) {
  const RunFiles files{directory};
  Recipe recipe = files.recipe();
  const std::filesystem::path weights = weights_of(files, recipe, checkpoint);
  if (!data.empty()) recipe.data = data;
  TrainedModel run{
      .name = name_of(directory), .model = recipe.model, .attention = recipe.attention, .data = recipe.data};
  run.dataset = open_dataset(recipe.data, DatasetPart::test);
  const DatasetInfo& info = run.dataset->info();
  run.module = models::make_with_weights(recipe.model, weights, model_options(recipe, {info.classes, info.channels}));
  run.module->eval();
  const auto size = static_cast<int>(run.module->dimensions().height);
  run.view = evaluation_config(run.dataset->info(), size, recipe.eval_crop);
  return run;
}

DatasetPtr evenly_chosen(const DatasetPtr& dataset, size_t count) {
  if (count >= dataset->size()) return dataset;
  std::vector<size_t> indices(count);
  for (size_t i = 0; i < count; ++i) indices[i] = i * dataset->size() / count;
  return std::make_shared<Subset>(dataset, std::move(indices));
}

void check_labels(const Dataset& dataset, const models::Model& model) {
  const int64_t largest = *std::max_element(dataset.labels().begin(), dataset.labels().end());
  const int64_t classes = model.dimensions().row.classes;
  if (largest < classes) return;
  throw std::runtime_error("the data has a class " + std::to_string(largest) + ", the weights know classes 0 to " +
                           std::to_string(classes - 1));
}

}  // namespace fib::training
