// SPDX-License-Identifier: Apache-2.0
// What beginning with weights adds to a run: what is loaded, what is frozen, when it ends, how classes count.
#include <gtest/gtest.h>

#include <cmath>

#include "data/fixtures.h"
#include "files.h"
#include "models/torch/weights.h"
#include "training/torch/noise_experiment.h"
#include "training/torch/parameter_groups.h"
#include "training/torch/rate_search.h"

namespace fib::training {
namespace {

using test::error_of;
using test::mentions;
using test::TemporaryDirectory;

/// Class folders with eight images each, and weights of mini_vit for ten classes.
class Finetune : public testing::Test {
 protected:
  Finetune() {
    for (const char* name : {"ant", "bee", "cat"})
      for (int i = 0; i < 8; ++i) {
        Image image = make_image(20, 16);
        CounterRng rng(static_cast<uint64_t>(i), {static_cast<uint64_t>(name[0])});
        for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(rng.below(256));
        const auto bytes = encode_jpeg(image, 90);
        std::filesystem::create_directories(directory_ / "photos" / name);
        test::write_file(directory_ / "photos" / name / (std::to_string(i) + ".jpg"),
                         std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
      }
  }
  /// Weights for ten classes and what they say.
  std::string weights(const TensorMetadata& metadata = {}) const {
    torch::manual_seed(1);
    models::Options options;
    options.resolution = 16, options.patch = 4;
    models::save_weights(*models::make("mini_vit", options), directory_ / "w.safetensors", metadata);
    return directory_ / "w.safetensors";
  }
  Recipe recipe(const std::string& file) const {
    Recipe recipe = open_recipe(small_recipe());
    recipe.model.name = "mini_vit";
    recipe.model.weights = file;
    recipe.data.source = "folder:" + (directory_ / "photos").string();
    recipe.augment.flip = 0;
    return settled(recipe, classification_tasks());
  }

  TemporaryDirectory directory_;
};

bool has_line(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return bool(mentions(line, part)); });
}

TEST_F(Finetune, says_what_is_loaded_new_and_different) {
  Recipe r = recipe(weights());
  Experiment dense = prepare(r);
  const std::vector<std::string> lines = dense.task->facts().notices;
  EXPECT_TRUE(has_line(lines, ": 42 of 44 tensors taken")) << lines.at(0);
  EXPECT_TRUE(has_line(lines, "classifier: 10 → 3 classes, new"));
  EXPECT_TRUE(has_line(lines, "attention: full, as in the weights; --attention fibottention makes it sparse"));
  EXPECT_TRUE(has_line(lines, "deviation 0.5 0.5 0.5 (as the model's published weights say)"));
  EXPECT_TRUE(has_line(lines, "are held out to test on"));
  r.model.attention = "fibottention";
  EXPECT_TRUE(has_line(prepare(r).task->facts().notices, "--attention full keeps them dense, fib adapt"));
}

TEST_F(Finetune, shows_images_as_the_weights_say) {
  const Recipe r = recipe(weights({{"model", "mini_vit"},
                                   {"attention", "local:w=2"},
                                   {"channels", "3"},
                                   {"mean", "[0.1, 0.2, 0.3]"},
                                   {"std", "[0.4, 0.5, 0.6]"},
                                   {"crop_ratio", "0.8"}}));
  EXPECT_EQ(r.model.attention, "local:w=2");
  const Experiment begun = prepare(r);
  const TensorMetadata said = begun.task->metadata();
  EXPECT_EQ(said.at("mean"), "[0.1, 0.2, 0.3]");
  EXPECT_EQ(said.at("std"), "[0.4, 0.5, 0.6]");
  EXPECT_EQ(said.at("crop_ratio"), "0.8");
  EXPECT_EQ(said.at("class_names"), R"(["ant","bee","cat"])");
}

/// Trains all steps of the recipe.
void train(Experiment experiment) {
  ProcessGroup alone;
  Recorder recorder;
  Trainer trainer(std::move(experiment), alone, nullptr, recorder);
  EXPECT_EQ(trainer.run(), Trainer::Outcome::finished);
}

std::map<std::string, at::Tensor> values_of(const models::Model& model) {
  std::map<std::string, at::Tensor> values;
  for (const auto& item : model.named_parameters()) values[item.key()] = item.value().detach().clone();
  return values;
}

/// Which parameters a run with --freeze changes.
std::vector<std::string> changed_with(Recipe recipe, const std::string& freeze) {
  recipe.model.freeze = freeze;
  Experiment experiment = prepare(recipe);
  const models::ModelPtr model = model_of(experiment);
  const auto before = values_of(*model);
  train(std::move(experiment));
  std::vector<std::string> changed;
  for (const auto& [name, value] : values_of(*model))
    if (!value.equal(before.at(name))) changed.push_back(name);
  return changed;
}

TEST_F(Finetune, frozen_parameters_keep_their_values_to_the_bit) {
  const Recipe r = recipe(weights());
  EXPECT_EQ(changed_with(r, "all"), (std::vector<std::string>{"head.bias", "head.weight"}));
  for (const std::string& name : changed_with(r, "2"))
    EXPECT_TRUE(name.starts_with("blocks.2.") || name.starts_with("norm.") || name.starts_with("head.")) << name;
  EXPECT_EQ(changed_with(r, "2").size(), size_t{12 + 2 + 2});
  EXPECT_TRUE(mentions(error_of([&] { changed_with(r, "4"); }), "freeze: received 4, the model has 3 blocks"));
}

TEST_F(Finetune, frozen_parts_stay_as_in_evaluation) {
  Recipe r = recipe(weights());
  r.model.freeze = "2";
  r.model.dropout = 0.1;
  const Experiment experiment = prepare(r);
  experiment.task->train();
  for (const auto& module : model_of(experiment)->named_modules()) {
    const std::string& name = module.key();
    const bool frozen = name == "blocks.0" || name == "blocks.1.mlp", learns = name == "blocks.2" || name == "head";
    if (frozen || learns) {
      EXPECT_EQ(module.value()->is_training(), learns) << name;
    }
  }
}

TEST(EarlyStop, ends_a_run_after_evaluations_that_are_no_better) {
  Recipe recipe = small_recipe();
  recipe.schedule.epochs = 40;
  recipe.schedule.early_stop = 2;
  recipe.optimizer.lr = 1e-12;  // nothing is learned, so no evaluation is better than the first
  recipe.schedule.min_lr = recipe.schedule.warmup_lr = 0;
  recipe.ema.decay = 0;
  const TemporaryDirectory directory;
  ProcessGroup alone;
  Recorder recorder;
  const RunDirectory run(directory / "run");
  Trainer trainer(experiment_of(recipe), alone, &run, recorder);
  EXPECT_EQ(trainer.run(), Trainer::Outcome::finished);
  const Summary summary = read_summary(run.files());
  EXPECT_EQ(summary.epochs, 3);
  EXPECT_EQ(summary.steps, 12);
  EXPECT_EQ(recorder.evaluations.back().split, "test");
}

TEST(ClassWeights, are_balanced_around_one) {
  const std::vector<float> weights = balanced_weights({0, 0, 0, 2}, 3);
  EXPECT_FLOAT_EQ(weights[0], 4.0F / (2 * 3));
  EXPECT_FLOAT_EQ(weights[1], 0);
  EXPECT_FLOAT_EQ(weights[2], 4.0F / 2);
  EXPECT_FLOAT_EQ(3 * weights[0] + weights[2], 4);
}

TEST_F(Finetune, balanced_classes_weigh_the_targets) {
  std::filesystem::remove_all(directory_ / "photos" / "bee");
  for (int i = 2; i < 8; ++i) std::filesystem::remove(directory_ / "photos" / "cat" / (std::to_string(i) + ".jpg"));
  Recipe r = recipe(weights());
  r.data.validation_fraction = 0;
  r.optimizer.label_smoothing = 0;
  r.optimizer.class_weights = "balanced";
  const Experiment experiment = prepare(r);
  const std::optional<TaskBatch> batch = experiment.task->epoch(0, 0)->next();
  ASSERT_TRUE(batch.has_value());
  // Eight images of ants and two of cats, of which two and none are tested on.
  const at::Tensor largest = std::get<0>(batch->tensors[1].max(1));
  EXPECT_EQ(batch->size(), 8);
  EXPECT_FLOAT_EQ(largest.min().item<float>(), 8.0F / (2 * 6));
  EXPECT_FLOAT_EQ(largest.max().item<float>(), 8.0F / (2 * 2));
}

TEST(RateSearch, suggests_where_the_loss_falls_fastest) {
  std::vector<RatePoint> points;
  for (int i = 0; i < 100; ++i) {
    const double lr = std::pow(10, -7 + 7.0 * i / 99), x = std::log10(lr);
    points.push_back({.lr = lr, .loss = 2 - 1.5 / (1 + std::exp(-4 * (x + 3))) + (x > -1.5 ? 3 * (x + 1.5) : 0)});
  }
  const RateSearch found = suggested_rate(points);
  EXPECT_NEAR(std::log10(found.suggested), -3, 0.2);
  EXPECT_NEAR(std::log10(found.largest), -1.5, 0.4);
  double first = 0;
  for (int i = 0; i < 6; ++i) first += points[static_cast<size_t>(i)].loss / 6;
  EXPECT_NEAR(found.points[0].smoothed, first, 1e-12);
  for (RatePoint& point : points) point.loss = 1;
  EXPECT_TRUE(mentions(error_of([&] { suggested_rate(points); }), "the loss fell at no learning rate"));
}

TEST(RateSearch, is_not_misled_by_single_batches) {
  CounterRng rng(5);
  std::vector<RatePoint> points;
  for (int i = 0; i < 100; ++i) {
    const double lr = std::pow(10, -7 + 7.0 * i / 99), x = std::log10(lr);
    points.push_back({.lr = lr, .loss = 2 - 1.5 / (1 + std::exp(-4 * (x + 3))) + 0.3 * rng.uniform()});
  }
  EXPECT_NEAR(std::log10(suggested_rate(points).suggested), -3, 0.6);
}

TEST(RateSearch, runs_over_epochs_until_the_loss_comes_apart) {
  int64_t last = 0;
  const RateSearch found =
      search_rate(experiment_of(small_recipe()), {.most = 100, .steps = 40, .progress = [&](int64_t n) { last = n; }});
  EXPECT_GT(last, 4);  // an epoch has four steps
  EXPECT_LT(last, 40);
  EXPECT_GT(found.suggested, 1e-7);
  CancelSource cancel;
  cancel.request();
  EXPECT_THROW(search_rate(experiment_of(small_recipe()), {.cancel = cancel.token()}), Cancelled);
}

}  // namespace
}  // namespace fib::training
