// SPDX-License-Identifier: Apache-2.0
#include "training/torch/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "base/safetensors.h"
#include "data/transforms/mixup.h"
#include "files.h"
#include "training/recipe/model_options.h"
#include "training/torch/classification.h"

namespace fib::training {
namespace {

using test::mentions;
using test::TemporaryDirectory;

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
Recipe small_recipe() {
  Recipe recipe;
  recipe.model = "mini_vit";
  recipe.resolution = 16;
  recipe.patch = 4;
  recipe.batch = 8;
  recipe.epochs = 2;
  recipe.warmup_epochs = 0;
  recipe.lr = 1e-2;
  recipe.eps = 1e-3;
  recipe.log_every = 1;
  recipe.flip = 0;
  recipe.threads = 1;
  return recipe;
}

std::unique_ptr<Loader> loader_of(size_t images, const Recipe& recipe, bool training) {
  const auto data = std::make_shared<Noise>(images);
  if (!training)
    return evaluation_loader(data, recipe, models::dimensions(recipe.model, model_options(recipe, {.classes = 4})));
  LoaderOptions options;
  options.sampler = {.batch = static_cast<size_t>(recipe.batch), .seed = static_cast<uint64_t>(recipe.seed)};
  options.mix = {.mixup_alpha = recipe.mixup, .cutmix_alpha = recipe.cutmix};
  return std::make_unique<Loader>(data, Pipeline(evaluation_config(data->info(), 16, 1)), options);
}

Experiment experiment_of(const Recipe& recipe, size_t images = 32) {
  torch::manual_seed(static_cast<uint64_t>(recipe.seed));
  const models::ModelPtr model = models::make(recipe.model, model_options(recipe, {.classes = 4}));
  ClassificationData data{loader_of(images, recipe, true), loader_of(12, recipe, false), loader_of(10, recipe, false)};
  return {.recipe = recipe, .task = std::make_unique<ClassificationTask>(recipe, model, std::move(data))};
}

models::ModelPtr model_of(const Experiment& experiment) {
  return dynamic_cast<const ClassificationTask&>(*experiment.task).model();
}

std::map<std::string, at::Tensor> parameters_of(const models::Model& model) {
  std::map<std::string, at::Tensor> values;
  for (const auto& item : model.named_parameters()) values[item.key()] = item.value().detach().clone();
  return values;
}

/// The formulas of the recipe in float64, written out: soft cross-entropy, clipping by the global norm, AdamW, average.
struct Expected {
  std::map<std::string, at::Tensor> values, average;
  double norm = 0;
};

Expected step_by_hand(const Recipe& r, const std::map<std::string, at::Tensor>& start, Batch batch) {
  const models::ModelPtr model = models::make(r.model, model_options(r, {.classes = 4}));
  {
    const torch::NoGradGuard no_grad;
    for (auto& item : model->named_parameters()) item.value().copy_(start.at(item.key()));
  }
  model->to(at::kDouble);
  const auto count = static_cast<int64_t>(batch.size());
  const at::Tensor images = at::from_blob(batch.images.data(), {count, 3, 16, 16}).to(at::kDouble);
  const at::Tensor logits = model->forward(images);
  const at::Tensor log_p = logits - logits.exp().sum(1, true).log();
  at::Tensor targets = at::full({count, 4}, r.smoothing / 4, at::kDouble);
  for (int64_t i = 0; i < count; ++i) targets[i][batch.labels[static_cast<size_t>(i)]] += 1 - r.smoothing;
  (-(targets * log_p).sum() / count).backward();

  Expected expected;
  for (const auto& item : model->named_parameters()) expected.norm += item.value().grad().pow(2).sum().item<double>();
  expected.norm = std::sqrt(expected.norm);
  const double scale = std::min(1.0, r.clip / (expected.norm + 1e-6));
  for (const auto& item : model->named_parameters()) {
    const at::Tensor p = item.value().detach(), g = item.value().grad() * scale;
    const bool decays = p.dim() > 1 && item.key() != "pos_embed" && item.key() != "cls_token";
    const at::Tensor m = (1 - r.beta1) * g, v = (1 - r.beta2) * g * g;
    const at::Tensor mean = m / (1 - r.beta1), square = v / (1 - r.beta2);
    const at::Tensor next = p * (decays ? 1 - r.lr * r.weight_decay : 1.0) - r.lr * mean / (square.sqrt() + r.eps);
    const double d = 2.0 / 11.0;
    expected.values[item.key()] = next;
    expected.average[item.key()] = d * p + (1 - d) * next;
  }
  return expected;
}

class Recorder : public Observer {
 public:
  explicit Recorder(int64_t stop_after = -1) : stop_after_(stop_after) {}
  void stepped(const StepFacts& facts) override { steps.push_back(facts); }
  void evaluated(const EvaluationFacts& facts) override { evaluations.push_back(facts); }
  bool wants_stop() override { return stop_after_ >= 0 && static_cast<int64_t>(steps.size()) + 1 >= stop_after_; }

  std::vector<StepFacts> steps;
  std::vector<EvaluationFacts> evaluations;

 private:
  int64_t stop_after_;
};

double largest_difference(const std::map<std::string, at::Tensor>& a, const std::map<std::string, at::Tensor>& b) {
  double largest = 0;
  for (const auto& [name, value] : a)
    largest = std::max(largest, (value.to(at::kDouble) - b.at(name).to(at::kDouble)).abs().max().item<double>());
  return largest;
}

TEST(Trainer, takes_a_step_as_computed_by_hand_in_float64) {
  Recipe recipe = small_recipe();
  recipe.epochs = 1;
  recipe.clip = 0.5;
  Experiment experiment = experiment_of(recipe, 8);
  const models::ModelPtr model = model_of(experiment);
  const auto start = parameters_of(*model);
  const Expected expected = step_by_hand(recipe, start, *loader_of(8, recipe, true)->epoch(0).next());
  ProcessGroup alone;
  Recorder recorder;
  const TemporaryDirectory directory;
  const RunDirectory run(directory.path());
  Trainer(std::move(experiment), alone, &run, recorder).run();
  ASSERT_EQ(recorder.steps.size(), 1U);
  EXPECT_GT(expected.norm, recipe.clip) << "clipping is part of the case";
  EXPECT_NEAR(recorder.steps[0].norm, expected.norm, 1e-5);
  EXPECT_EQ(recorder.steps[0].lr, recipe.lr);
  EXPECT_LT(largest_difference(parameters_of(*model), expected.values), 2e-6);
  EXPECT_GT(largest_difference(start, expected.values), 1e-3) << "the step moves weights far more than the tolerance";
  const SafetensorsFile averaged(run.files().ema());
  std::vector<float> values(static_cast<size_t>(expected.average.at("head.weight").numel()));
  copy_values(*averaged.find("head.weight"), values);
  const at::Tensor found = at::from_blob(values.data(), {static_cast<int64_t>(values.size())});
  EXPECT_LT((found - expected.average.at("head.weight").flatten()).abs().max().item<double>(), 2e-6);
}

TEST(Trainer, accumulates_gradients_to_the_same_step) {
  const auto trained = [](int64_t accumulate) {
    Recipe recipe = small_recipe();
    recipe.accumulate = accumulate;
    Experiment experiment = experiment_of(recipe);
    const models::ModelPtr model = model_of(experiment);
    ProcessGroup alone;
    Recorder recorder;
    Trainer(std::move(experiment), alone, nullptr, recorder).run();
    return parameters_of(*model);
  };
  EXPECT_LT(largest_difference(trained(1), trained(4)), 1e-5);
}

/// With everything random switched on.
Recipe random_recipe() {
  Recipe recipe = small_recipe();
  recipe.dropout = recipe.attention_dropout = recipe.drop_path = 0.1;
  recipe.mixup = 0.8;
  recipe.cutmix = 1;
  return recipe;
}

/// Runs in `directory`, stopping after each of the given numbers of steps and beginning anew from the files.
void train_with_stops(const std::filesystem::path& directory, const std::vector<int64_t>& stops,
                      const Recipe& recipe = random_recipe()) {
  ProcessGroup alone;
  for (size_t i = 0; i <= stops.size(); ++i) {
    Recorder recorder(i < stops.size() ? stops[i] : -1);
    const RunDirectory run(directory);
    Trainer trainer(experiment_of(recipe), alone, &run, recorder);
    if (i > 0) trainer.resume();
    const auto outcome = trainer.run();
    EXPECT_EQ(outcome, i < stops.size() ? Trainer::Outcome::stopped : Trainer::Outcome::finished);
  }
}

TEST(Trainer, ends_with_the_same_bits_wherever_it_was_stopped) {
  const TemporaryDirectory whole;
  train_with_stops(whole.path(), {});
  // Eight steps in two epochs: at the first, within an epoch, at its last step, several times, just before the end.
  for (const std::vector<int64_t>& stops : std::vector<std::vector<int64_t>>{{1}, {3}, {4}, {2, 3, 1}, {7}}) {
    const TemporaryDirectory stopped;
    train_with_stops(stopped.path(), stops);
    for (const char* file : {"model.safetensors", "ema.safetensors", "best.safetensors", "metrics.jsonl"})
      EXPECT_TRUE(test::read_file(whole / file) == test::read_file(stopped / file))
          << file << ", first stop " << stops[0];
  }
}

/// Every optimizer, schedule, average and rule of decay that is not the default.
TEST(Trainer, resumes_to_the_bit_with_every_choice_of_the_recipe) {
  std::vector<Recipe> recipes(4, random_recipe());
  recipes[0].optimizer = "sgd";
  recipes[0].decay_on = "all";
  recipes[1].schedule = "milestones";
  recipes[1].milestones = {0.5, 1};
  recipes[2].ema_rule = "power";
  recipes[3].ema_rule = "constant";
  recipes[3].schedule = "epoch";
  for (const Recipe& recipe : recipes) {
    const TemporaryDirectory whole, stopped, plain;
    train_with_stops(whole.path(), {}, recipe);
    train_with_stops(stopped.path(), {3}, recipe);
    train_with_stops(plain.path(), {});
    for (const char* file : {"model.safetensors", "ema.safetensors", "metrics.jsonl"})
      EXPECT_TRUE(test::read_file(whole / file) == test::read_file(stopped / file)) << file;
    EXPECT_FALSE(test::read_file(whole / "ema.safetensors") == test::read_file(plain / "ema.safetensors"))
        << "the choice makes a difference";
  }
}

/// Learns to reproduce numbers; judged by an error, of which less is better.
class Regression : public Task {
 public:
  Regression() : net_(3, 1) {}
  torch::nn::Module& network() override { return *net_; }
  std::vector<int64_t> stages() const override { return {1}; }
  TaskFacts facts() const override {
    return {.samples = "points", .train = 20, .validation = 4, .test = 4, .score = {"error", false}};
  }
  int64_t steps_per_epoch() const override { return 5; }
  std::unique_ptr<TaskStream> epoch(int64_t epoch, int64_t first_step) override {
    struct Stream : TaskStream {
      int64_t epoch = 0, step = 0;
      std::optional<TaskBatch> next() override {
        if (step == 5) return std::nullopt;
        torch::manual_seed(static_cast<uint64_t>(100 * epoch + step++));
        const at::Tensor x = torch::randn({4, 3});
        return TaskBatch{{x, x.sum(1, true)}};
      }
    };
    auto stream = std::make_unique<Stream>();
    stream->epoch = epoch;
    stream->step = first_step;
    return stream;
  }
  at::Tensor loss(const TaskBatch& batch) override { return (net_(batch.tensors[0]) - batch.tensors[1]).pow(2).mean(); }
  Evaluation evaluate(Split, ProcessGroup&, const EvaluationHooks&) override {
    const EvalMode eval_mode(*net_);
    return {.samples = 4, .figures = {{"error", (net_->weight - 1).abs().max().item<double>()}}, .seconds = 1};
  }
  TensorMetadata metadata() const override { return {{"kind", "regression"}}; }

 private:
  torch::nn::Linear net_;
};

TEST(Trainer, learns_any_task_and_keeps_the_best_by_its_score) {
  torch::manual_seed(1);
  Recipe recipe = small_recipe();
  recipe.task = "regression";
  recipe.epochs = 20;
  recipe.batch = 4;
  ProcessGroup alone;
  Recorder recorder;
  const TemporaryDirectory directory;
  const RunDirectory run(directory.path());
  Trainer({.recipe = recipe, .task = std::make_unique<Regression>()}, alone, &run, recorder).run();
  const Summary summary = read_summary(run.files());
  double least = 1e9;
  for (const EvaluationFacts& e : recorder.evaluations) least = std::min(least, e.result.value("error"));
  EXPECT_EQ(summary.task, "regression");
  EXPECT_EQ(summary.samples, "points");
  EXPECT_EQ(summary.test.evaluation.value("error"), least) << "the weights with the smallest error were tested";
  EXPECT_LT(least, recorder.evaluations[0].result.value("error"));
  EXPECT_FALSE(summary.attention_cost.has_value());
  EXPECT_EQ(SafetensorsFile(run.files().best()).metadata().at("kind"), "regression");
  EXPECT_TRUE(mentions(test::read_file(run.files().summary()), "\"points_per_second\""));
}

TEST(Tasks, are_found_by_name_and_added_once) {
  Recipe recipe;
  recipe.task = "klassification";
  EXPECT_TRUE(mentions(test::error_of([&] { prepare(recipe); }), "classification"));
  EXPECT_TRUE(mentions(test::error_of([] { add_task({"classification", "", {}}); }), "already"));
}

/// Asks to stop at the n-th batch of all evaluations.
class StopsWhileEvaluating : public Recorder {
 public:
  explicit StopsWhileEvaluating(int64_t batches) : left_(batches) {}
  void evaluating(const std::string& split, int64_t, int64_t) override {
    if (--left_ == 0) where = split;
  }
  bool wants_stop() override { return left_ <= 0; }

  std::string where;

 private:
  int64_t left_;
};

/// Batches of 8: two of validation for each of two weights in two epochs, then two of the test.
TEST(Trainer, stops_within_an_evaluation_and_ends_with_the_same_bits) {
  const TemporaryDirectory whole;
  train_with_stops(whole.path(), {});
  for (const int64_t batches : {1, 3, 6, 9, 10}) {
    const TemporaryDirectory stopped;
    ProcessGroup alone;
    {
      StopsWhileEvaluating observer(batches);
      const RunDirectory run(stopped.path());
      Trainer trainer(experiment_of(random_recipe()), alone, &run, observer);
      EXPECT_EQ(trainer.run(), Trainer::Outcome::stopped);
      EXPECT_EQ(observer.where, batches < 9 ? "validation" : "test");
      EXPECT_FALSE(std::filesystem::exists(run.files().summary()));
    }
    Recorder recorder;
    const RunDirectory run(stopped.path());
    Trainer trainer(experiment_of(random_recipe()), alone, &run, recorder);
    trainer.resume();
    EXPECT_EQ(trainer.run(), Trainer::Outcome::finished);
    for (const char* file : {"model.safetensors", "ema.safetensors", "best.safetensors", "metrics.jsonl"})
      EXPECT_TRUE(test::read_file(whole / file) == test::read_file(stopped / file)) << file << " " << batches;
  }
}

/// Asks to stop once the first epoch has only its evaluation left.
class StopsBeforeEvaluating : public Recorder {
 public:
  void stepped(const StepFacts& facts) override {
    Recorder::stepped(facts);
    wants_ = facts.step == facts.steps / facts.epochs;
  }
  void evaluating(const std::string&, int64_t, int64_t) override { ++batches; }
  bool wants_stop() override { return wants_; }

  int batches = 0;

 private:
  bool wants_ = false;
};

/// One of a large model takes longer than anyone waits.
TEST(Trainer, does_not_finish_a_batch_of_an_evaluation_that_it_stops) {
  const TemporaryDirectory directory;
  ProcessGroup alone;
  StopsBeforeEvaluating observer;
  const RunDirectory run(directory.path());
  Trainer trainer(experiment_of(random_recipe()), alone, &run, observer);
  EXPECT_EQ(trainer.run(), Trainer::Outcome::stopped);
  EXPECT_EQ(observer.batches, 0);
  EXPECT_TRUE(observer.evaluations.empty());
}

TEST(Trainer, refuses_a_checkpoint_of_another_recipe) {
  const TemporaryDirectory directory;
  train_with_stops(directory.path(), {});
  Recipe other = random_recipe();
  other.weight_decay = 0.5;
  ProcessGroup alone;
  Recorder recorder;
  const RunDirectory run(directory.path());
  Trainer trainer(experiment_of(other), alone, &run, recorder);
  EXPECT_TRUE(mentions(test::error_of([&] { trainer.resume(); }), "weight_decay"));
}

TEST(Trainer, evaluates_both_weights_and_tests_once) {
  ProcessGroup alone;
  Recorder recorder;
  const TemporaryDirectory directory;
  const RunDirectory run(directory.path());
  Trainer(experiment_of(small_recipe()), alone, &run, recorder).run();
  ASSERT_EQ(recorder.evaluations.size(), 5U) << "model and ema after each of two epochs, then the test";
  EXPECT_EQ(recorder.evaluations[0].weights, "model");
  EXPECT_EQ(recorder.evaluations[1].weights, "ema");
  EXPECT_EQ(recorder.evaluations[0].result.samples, 12);
  EXPECT_EQ(recorder.evaluations[4].split, "test");
  EXPECT_EQ(recorder.evaluations[4].result.samples, 10);
  const Summary summary = read_summary(run.files());
  EXPECT_EQ(summary.test.evaluation.value("top1"), recorder.evaluations[4].result.value("top1"));
  const SafetensorsFile best(run.files().best());
  EXPECT_EQ(best.metadata().at("weights"), summary.test.weights);
}

TEST(Trainer, stops_when_the_loss_is_not_finite_and_keeps_the_last_checkpoint) {
  Recipe recipe = small_recipe();
  recipe.lr = 1e30;
  recipe.clip = 0;
  recipe.checkpoint_every = 1;
  ProcessGroup alone;
  Recorder recorder;
  const TemporaryDirectory directory;
  const RunDirectory run(directory.path());
  Trainer trainer(experiment_of(recipe), alone, &run, recorder);
  const std::string error = test::error_of([&] { trainer.run(); });
  EXPECT_TRUE(mentions(error, "is not finite at step"));
  EXPECT_TRUE(mentions(error, "learning rate "));
  EXPECT_EQ(load_checkpoint(run.files().state()).run.step, static_cast<int64_t>(recorder.steps.size()));
}

}  // namespace
}  // namespace fib::training
