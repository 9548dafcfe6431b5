// SPDX-License-Identifier: Apache-2.0
// A classifier that learns noise in eight steps, and someone who watches it: what the trainer's tests train.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "base/rng.h"
#include "data/transforms/mixup.h"
#include "training/recipe/model_options.h"
#include "training/torch/classification.h"
#include "training/torch/trainer.h"

namespace fib::training {

/// Noise with a label: enough to move weights.
class Noise : public Dataset {
 public:
  explicit Noise(size_t count) : Dataset(described(), labels_for(count)) {}

  Image image(size_t index) const override {
    Image image = make_image(16, 16);
    CounterRng rng(3, {index});
    for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(rng.below(256));
    return image;
  }
  std::string item_name(size_t index) const override { return "noise " + std::to_string(index); }

 private:
  static DatasetInfo described() {
    DatasetInfo info;
    info.name = "noise";
    info.classes = 4;
    info.image_size = 16;
    info.mean = info.std = {0.5F, 0.5F, 0.5F};
    return info;
  }
  static std::vector<int64_t> labels_for(size_t count) {
    std::vector<int64_t> labels(count);
    for (size_t i = 0; i < count; ++i) labels[i] = static_cast<int64_t>(i % 4);
    return labels;
  }
};

/// mini_vit on 16 x 16 images in patches of 4: sixteen tokens.
inline Recipe small_recipe() {
  Recipe recipe;
  recipe.model.name = "mini_vit";
  recipe.model.resolution = 16;
  recipe.model.patch = 4;
  recipe.optimizer.batch = 8;
  recipe.schedule.epochs = 2;
  recipe.schedule.warmup_epochs = 0;
  recipe.optimizer.lr = 1e-2;
  recipe.optimizer.eps = 1e-3;
  recipe.run.log_every = 1;
  recipe.augment.flip = 0;
  recipe.run.threads = 1;
  return recipe;
}

inline std::unique_ptr<Loader> loader_of(size_t images, const Recipe& recipe, bool training) {
  const auto data = std::make_shared<Noise>(images);
  if (!training)
    return evaluation_loader(data, recipe,
                             models::dimensions(recipe.model.name, model_options(recipe, {.classes = 4})));
  LoaderOptions options;
  options.sampler = {.batch = static_cast<size_t>(recipe.optimizer.batch),
                     .seed = static_cast<uint64_t>(recipe.run.seed)};
  options.mix = {.mixup_alpha = recipe.augment.mixup, .cutmix_alpha = recipe.augment.cutmix};
  return std::make_unique<Loader>(data, Pipeline(evaluation_config(data->info(), 16, 1)), options);
}

inline Experiment experiment_of(const Recipe& recipe, size_t images = 32) {
  torch::manual_seed(static_cast<uint64_t>(recipe.run.seed));
  const models::ModelPtr model = models::make(recipe.model.name, model_options(recipe, {.classes = 4}));
  ClassificationData data{loader_of(images, recipe, true), loader_of(12, recipe, false), loader_of(10, recipe, false)};
  return {.recipe = recipe, .task = std::make_unique<ClassificationTask>(recipe, model, std::move(data))};
}

inline models::ModelPtr model_of(const Experiment& experiment) {
  return dynamic_cast<const ClassificationTask&>(*experiment.task).model();
}

class Recorder : public Observer {
 public:
  explicit Recorder(int64_t stop_after = -1) : stop_after_(stop_after) { cancel_if_due(); }
  void stepped(const StepFacts& facts) override {
    steps.push_back(facts);
    cancel_if_due();
  }
  void evaluated(const EvaluationFacts& facts) override { evaluations.push_back(facts); }

  CancelSource cancel;
  std::vector<StepFacts> steps;
  std::vector<EvaluationFacts> evaluations;

 private:
  /// The step under way is finished: the one before it is when to ask.
  void cancel_if_due() {
    if (stop_after_ >= 0 && static_cast<int64_t>(steps.size()) + 1 >= stop_after_) cancel.request();
  }

  int64_t stop_after_;
};

/// With everything random switched on.
inline Recipe random_recipe() {
  Recipe recipe = small_recipe();
  recipe.model.dropout = recipe.model.attention_dropout = recipe.model.drop_path = 0.1;
  recipe.augment.mixup = 0.8;
  recipe.augment.cutmix = 1;
  return recipe;
}

/// Runs in `directory`, stopping after each of the given numbers of steps and beginning anew from the files.
inline void train_with_stops(const std::filesystem::path& directory, const std::vector<int64_t>& stops,
                             const Recipe& recipe = random_recipe()) {
  ProcessGroup alone;
  for (size_t i = 0; i <= stops.size(); ++i) {
    Recorder recorder(i < stops.size() ? stops[i] : -1);
    const RunDirectory run(directory);
    Trainer trainer(experiment_of(recipe), alone, &run, recorder, recorder.cancel.token());
    if (i > 0) trainer.resume();
    const auto outcome = trainer.run();
    EXPECT_EQ(outcome, i < stops.size() ? Trainer::Outcome::stopped : Trainer::Outcome::finished);
  }
}

}  // namespace fib::training
