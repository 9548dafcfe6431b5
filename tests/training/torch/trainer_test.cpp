// SPDX-License-Identifier: Apache-2.0
#include "training/torch/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/safetensors.h"
#include "files.h"
#include "training/torch/noise_experiment.h"

namespace fib::training {
namespace {

using test::mentions;
using test::TemporaryDirectory;

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
  const models::ModelPtr model = models::make(r.model.name, model_options(r, {.classes = 4}));
  {
    const torch::NoGradGuard no_grad;
    for (auto& item : model->named_parameters()) item.value().copy_(start.at(item.key()));
  }
  model->to(at::kDouble);
  const auto count = static_cast<int64_t>(batch.size());
  const at::Tensor images = at::from_blob(batch.images.data(), {count, 3, 16, 16}).to(at::kDouble);
  const at::Tensor logits = model->forward(images);
  const at::Tensor log_p = logits - logits.exp().sum(1, true).log();
  at::Tensor targets = at::full({count, 4}, r.optimizer.label_smoothing / 4, at::kDouble);
  for (int64_t i = 0; i < count; ++i)
    targets[i][batch.labels[static_cast<size_t>(i)]] += 1 - r.optimizer.label_smoothing;
  (-(targets * log_p).sum() / count).backward();

  Expected expected;
  for (const auto& item : model->named_parameters()) expected.norm += item.value().grad().pow(2).sum().item<double>();
  expected.norm = std::sqrt(expected.norm);
  const double scale = std::min(1.0, r.optimizer.grad_clip / (expected.norm + 1e-6));
  for (const auto& item : model->named_parameters()) {
    const at::Tensor p = item.value().detach(), g = item.value().grad() * scale;
    const bool decays = p.dim() > 1 && item.key() != "pos_embed" && item.key() != "cls_token";
    const at::Tensor m = (1 - r.optimizer.beta1) * g, v = (1 - r.optimizer.beta2) * g * g;
    const at::Tensor mean = m / (1 - r.optimizer.beta1), square = v / (1 - r.optimizer.beta2);
    const at::Tensor next = p * (decays ? 1 - r.optimizer.lr * r.optimizer.weight_decay : 1.0) -
                            r.optimizer.lr * mean / (square.sqrt() + r.optimizer.eps);
    const double d = 2.0 / 11.0;
    expected.values[item.key()] = next;
    expected.average[item.key()] = d * p + (1 - d) * next;
  }
  return expected;
}

double largest_difference(const std::map<std::string, at::Tensor>& a, const std::map<std::string, at::Tensor>& b) {
  double largest = 0;
  for (const auto& [name, value] : a)
    largest = std::max(largest, (value.to(at::kDouble) - b.at(name).to(at::kDouble)).abs().max().item<double>());
  return largest;
}

TEST(Trainer, takes_a_step_as_computed_by_hand_in_float64) {
  Recipe recipe = small_recipe();
  recipe.schedule.epochs = 1;
  recipe.optimizer.grad_clip = 0.5;
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
  EXPECT_GT(expected.norm, recipe.optimizer.grad_clip) << "clipping is part of the case";
  EXPECT_NEAR(recorder.steps[0].norm, expected.norm, 1e-5);
  EXPECT_EQ(recorder.steps[0].lr, recipe.optimizer.lr);
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
    recipe.optimizer.accumulate = accumulate;
    Experiment experiment = experiment_of(recipe);
    const models::ModelPtr model = model_of(experiment);
    ProcessGroup alone;
    Recorder recorder;
    Trainer(std::move(experiment), alone, nullptr, recorder).run();
    return parameters_of(*model);
  };
  EXPECT_LT(largest_difference(trained(1), trained(4)), 1e-5);
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
    return {.samples = 4, .metrics = {{"error", (net_->weight - 1).abs().max().item<double>()}}, .seconds = 1};
  }
  TensorMetadata metadata() const override { return {{"kind", "regression"}}; }

 private:
  torch::nn::Linear net_;
};

TEST(Trainer, learns_any_task_and_keeps_the_best_by_its_score) {
  torch::manual_seed(1);
  Recipe recipe = small_recipe();
  recipe.run.task = "regression";
  recipe.schedule.epochs = 20;
  recipe.optimizer.batch = 4;
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

TEST(Tasks, are_found_by_name_in_the_table_that_is_given) {
  Recipe recipe;
  recipe.run.task = "klassification";
  EXPECT_TRUE(mentions(test::error_of([&] { prepare(recipe); }), "classification"));
  const auto fails = [](const Recipe&, const RankInfo&) -> Experiment { throw std::runtime_error("it is made"); };
  EXPECT_TRUE(mentions(test::error_of([&] { prepare(recipe, {}, {{"klassification", "", fails}}); }), "it is made"));
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
  recipe.optimizer.lr = 1e30;
  recipe.optimizer.grad_clip = 0;
  recipe.run.checkpoint_every = 1;
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
