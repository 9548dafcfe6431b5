// SPDX-License-Identifier: Apache-2.0
#include "training/torch/adaptation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "files.h"
#include "models/torch/weights.h"
#include "ops/support.h"
#include "training/torch/training_step.h"

namespace fib::training {
namespace {

using test::mentions;

models::ModelPtr mini(const std::string& attention, const std::string& layers = "") {
  torch::manual_seed(5);
  models::Options options;
  options.attention = AttentionSpec::parse(attention);
  options.attention_layers = models::parse_layers(layers);
  models::ModelPtr model = models::make("mini_vit", options);
  const at::NoGradGuard no_grad;
  // As they begin, scores are so small that every attention is a mean.
  for (auto& item : model->named_parameters())
    if (item.key().ends_with("qkv.weight")) item.value().mul_(8);
  model->eval();
  return model;
}

at::Tensor images() {
  torch::manual_seed(7);
  return torch::randn({4, 3, 64, 64});
}

at::Tensor logits_of(models::Model& model) {
  const at::NoGradGuard no_grad;
  return model.forward(images());
}

/// With all of its sparse attentions faded so far.
at::Tensor faded_logits(models::Model& model, double fade) {
  std::vector<std::unique_ptr<FadingAttention>> fading;
  for (const attention::MechanismPtr& mechanism : model.attentions())
    if (mechanism->info().support_set) fading.push_back(std::make_unique<FadingAttention>(mechanism, 0.0));
  for (const auto& layer : fading) layer->begin(fade);
  at::Tensor logits = logits_of(model);
  for (const auto& layer : fading) layer->end();
  return logits;
}

double largest(const at::Tensor& difference) { return difference.abs().max().item<double>(); }

TEST(Fade, begins_dense_and_ends_in_exactly_the_sparse_model) {
  for (const char* attention : {"fibottention", "longformer", "bigbird"}) {
    const models::ModelPtr dense = mini("full"), sparse = mini(attention);
    EXPECT_GT(largest(logits_of(*dense) - logits_of(*sparse)), 1e-3) << attention << ": the case tells them apart";
    EXPECT_TRUE(faded_logits(*sparse, 0).equal(logits_of(*dense))) << attention;
    EXPECT_TRUE(faded_logits(*sparse, 1).equal(logits_of(*sparse))) << attention;
    EXPECT_LT(largest(faded_logits(*sparse, 1 - 1e-9) - logits_of(*sparse)), 1e-5) << attention << ": without a jump";
  }
}

TEST(Fade, adds_a_term_to_the_scores_of_pairs_that_are_left_out) {
  const attention::MechanismPtr sparse = mini("fibottention")->attentions().front();
  const attention::Geometry& g = sparse->geometry();
  FadingAttention fading(sparse, 0.0);
  const at::Tensor qkv = torch::randn({2, g.query_tokens(), 3, g.heads, g.head_dim});
  fading.begin(0.5);
  const at::Tensor got = sparse->forward_packed(qkv);
  fading.end();

  const attention::Inputs in = attention::unpack(qkv);
  const at::Tensor outside = ops::support_mask(attention::layer_support(sparse->spec(), g)).logical_not();
  const at::Tensor scores = at::matmul(in.q, in.k.transpose(2, 3)) * g.score_scale();
  const at::Tensor weights = at::where(outside, scores.exp() / 16, scores.exp());  // (1 - 1/2)^4
  const at::Tensor want = attention::merge_heads(at::matmul(weights / weights.sum(-1, true), in.v));
  EXPECT_LT(largest(got - want), 1e-5);
}

TEST(Fade, leaves_layers_alone_that_are_dense) {
  const models::ModelPtr dense = mini("full"), mixture = mini("fibottention", "1");
  EXPECT_TRUE(faded_logits(*mixture, 0).equal(logits_of(*dense)));
  EXPECT_GT(largest(logits_of(*mixture) - logits_of(*dense)), 1e-4);
  EXPECT_GT(largest(logits_of(*mixture) - logits_of(*mini("fibottention"))), 1e-4);
}

TEST(Fade, reaches_its_end_within_its_share_of_the_steps) {
  EXPECT_EQ(fade_of(0, 100, 0.5), 1.0 / 50);
  EXPECT_EQ(fade_of(24, 100, 0.5), 0.5);
  EXPECT_EQ(fade_of(49, 100, 0.5), 1);
  EXPECT_EQ(fade_of(99, 100, 0.5), 1);
  EXPECT_EQ(fade_of(0, 100, 0), 1) << "nothing fades: the pairs are gone at once";
  EXPECT_EQ(fade_of(4, 5, 1), 1) << "the last step is that of the sparse model";
}

TEST(Distance, is_zero_for_the_same_answers_and_the_sum_of_both_parts_else) {
  const Answer teacher{at::tensor({1.0, 0.0}).view({1, 2}), {at::tensor({1.0, 3.0}).view({1, 1, 2})}};
  EXPECT_EQ(distance(teacher, teacher, {}).item<double>(), 0);
  const Answer student{at::tensor({0.0, 0.0}).view({1, 2}), {at::tensor({9.0, 5.0}).view({1, 1, 2})}};
  const double p = 1 / (1 + std::exp(-0.5));  // of the first class, at temperature 2
  const double divergence = 4 * (p * std::log(2 * p) + (1 - p) * std::log(2 * (1 - p)));
  EXPECT_NEAR(distance(student, teacher, {.temperature = 2, .features = 0}).item<double>(), divergence, 1e-6);
  // After a norm the tokens are (-1, 1) and (1, -1).
  EXPECT_NEAR(distance(student, teacher, {.temperature = 2, .features = 3}).item<double>(), divergence + 12, 1e-3);
}

TEST(Answer, has_the_output_of_every_block) {
  const models::ModelPtr model = mini("full");
  const Answer with_gradients = answer_of(*model, images());
  const at::NoGradGuard no_grad;
  const Answer without = answer_of(*model, images());
  ASSERT_EQ(without.blocks.size(), 3U);
  for (size_t i = 0; i < 3; ++i) EXPECT_LT(largest(without.blocks[i] - with_gradients.blocks[i]), 1e-5) << i;
  EXPECT_GT(largest(without.blocks[1] - without.blocks[2]), 1e-3) << "each in memory of its own";
}

Recipe small_adaptation() {
  Recipe recipe = adaptation_recipe();
  recipe.model.name = "mini_vit";
  recipe.optimizer.lr = 1e-3;
  return recipe;
}

TEST(Adaptation, brings_a_student_closer_to_its_teacher) {
  for (const double fade : {0.5, 1.0}) {
    AdaptationTask task(small_adaptation(), mini("fibottention"), {mini("full"), {}});
    ProcessGroup alone;
    TrainingStep step(task, nullptr, small_adaptation(), alone);
    const TaskBatch batch{{images(), at::full({4}, fade, at::kDouble)}};
    double first = 0, last = 0;
    for (int i = 0; i < 12; ++i) {
      last = step.gradients(batch, i).mean;
      if (i == 0) first = last;
      step.update(1e-3);
    }
    EXPECT_GT(first, 0) << fade;
    EXPECT_LT(last, 0.7 * first) << fade;
  }
}

TEST(Adaptation, costs_nothing_before_the_first_pair_fades) {
  AdaptationTask task(small_adaptation(), mini("fibottention"), {mini("full"), {}});
  const auto loss = [&](double fade) {
    return task.loss({{images(), at::full({4}, fade, at::kDouble)}}).item<double>();
  };
  EXPECT_LT(std::abs(loss(0)), 1e-3 * loss(1)) << "but for rounding: passes with and without gradients differ in it";
  EXPECT_TRUE(logits_of(*task.model()).equal(logits_of(*mini("fibottention")))) << "it is judged as the sparse model";
}

TEST(Adaptation, refuses_blocks_that_it_cannot_watch) {
  const models::ModelPtr mvit = models::make("mini_mvitv2");
  Recipe recipe = small_adaptation();
  recipe.model.name = "mini_mvitv2";
  EXPECT_TRUE(mentions(test::error_of([&] { AdaptationTask(recipe, mvit, {mvit, {}}); }), "adapt_features must be 0"));
  recipe.adapt.features = 0;
  EXPECT_NO_THROW(AdaptationTask(recipe, mvit, {mvit, {}}));
}

}  // namespace
}  // namespace fib::training
