// SPDX-License-Identifier: Apache-2.0
#include "training/torch/experiment.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "data/open_dataset.h"
#include "models/torch/weights.h"
#include "training/recipe/model_options.h"
#include "training/recipe/options.h"
#include "training/torch/prune/search.h"

namespace fib::training {
namespace {

PipelineConfig training_config(const Recipe& recipe, const DatasetInfo& data, int input_size) {
  static const std::map<std::string, CropMode> kCrops = {
      {"resized", CropMode::random_resized}, {"padded", CropMode::padded}, {"none", CropMode::resize}};
  PipelineConfig config = evaluation_config(data, input_size, 1);
  config.crop = kCrops.at(recipe.crop);
  config.crop_range = {{recipe.crop_scale.low, recipe.crop_scale.high},
                       {recipe.crop_ratio.low, recipe.crop_ratio.high}};
  config.padding = static_cast<int>(recipe.crop_padding);
  config.flip = recipe.flip;
  config.rand_augment = recipe.rand_augment;
  config.color_jitter = recipe.color_jitter;
  config.erasing = recipe.random_erasing;
  return config;
}

LoaderOptions loader_options(const Recipe& recipe, const Share& share) {
  LoaderOptions options;
  options.sampler.batch = static_cast<size_t>(recipe.batch);
  options.sampler.rank = static_cast<size_t>(share.rank);
  options.sampler.world = static_cast<size_t>(share.world);
  options.sampler.seed = static_cast<uint64_t>(recipe.seed);
  options.workers =
      recipe.workers > 0 ? static_cast<int>(recipe.workers) : std::max(1, default_workers() / share.local_world);
  options.prefetch = static_cast<int>(recipe.prefetch);
  options.skip_bad = recipe.skip_bad;
  return options;
}

std::unique_ptr<Loader> training_loader(const DatasetPtr& data, const Recipe& recipe, int64_t size,
                                        const Share& share) {
  LoaderOptions options = loader_options(recipe, share);
  options.mix = {.mixup_alpha = recipe.mixup,
                 .cutmix_alpha = recipe.cutmix,
                 .probability = recipe.mix_probability,
                 .switch_probability = recipe.mix_switch};
  const Pipeline pipeline(training_config(recipe, data->info(), static_cast<int>(size)));
  return std::make_unique<Loader>(data, pipeline, options);
}

models::ModelPtr make_model(const Recipe& recipe, const DatasetInfo& data) {
  torch::manual_seed(static_cast<uint64_t>(recipe.seed));
  const models::Options options = model_options(recipe, {data.classes, data.channels});
  if (recipe.weights.empty()) return models::make(recipe.model, options);
  return models::make_with_weights(recipe.model, recipe.weights, options, {.new_classifier = true});
}

void require_divisible(const Recipe& recipe, const Share& share) {
  const int64_t parts = share.world * recipe.accumulate;
  if (recipe.batch % parts != 0)
    throw std::invalid_argument("batch " + std::to_string(recipe.batch) + " does not divide among " +
                                std::to_string(share.world) + " processes with accumulate " +
                                std::to_string(recipe.accumulate));
}

}  // namespace

std::unique_ptr<Loader> evaluation_loader(const DatasetPtr& data, const Recipe& recipe, int64_t input_size,
                                          const Share& share) {
  LoaderOptions options = loader_options(recipe, share);
  if (recipe.eval_batch > 0) options.sampler.batch = static_cast<size_t>(recipe.eval_batch * share.world);
  options.sampler.shuffle = false;
  options.sampler.drop_last = false;
  const Pipeline pipeline(evaluation_config(data->info(), static_cast<int>(input_size), recipe.eval_crop));
  return std::make_unique<Loader>(data, pipeline, options);
}

Experiment prepare(const Recipe& recipe, const Share& share) {
  check_recipe(recipe);
  require_divisible(recipe, share);
  const DataSplits data = open_data_splits(recipe.data, {.validation_fraction = recipe.validation_fraction,
                                                         .train_fraction = recipe.train_fraction,
                                                         .limit_per_class = recipe.limit_per_class,
                                                         .seed = static_cast<uint64_t>(recipe.split_seed)});
  Experiment experiment{.recipe = recipe, .model = make_model(recipe, data.train->info())};
  if (recipe.prune_ratio > 0) experiment.companion = std::make_shared<PruningSearch>(*experiment.model, recipe);
  const int64_t size = experiment.model->dimensions().height;
  experiment.train = training_loader(data.train, recipe, size, share);
  if (data.validation) experiment.validation = evaluation_loader(data.validation, recipe, size, share);
  experiment.test = evaluation_loader(data.test, recipe, size, share);
  return experiment;
}

}  // namespace fib::training
