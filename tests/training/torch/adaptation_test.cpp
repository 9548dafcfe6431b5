// SPDX-License-Identifier: Apache-2.0
#include "training/torch/adaptation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "files.h"
#include "models/torch/weights.h"
#include "ops/layers.h"
#include "ops/support.h"
#include "training/torch/adaptation_layers.h"
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

/// The weights W [F+1,D] that minimize the squares of all rows at once, the penalty's as rows of their own.
at::Tensor least_squares(const at::Tensor& x, const at::Tensor& y, const at::Tensor& counts, const at::Tensor& start,
                         double penalty) {
  const at::Tensor ones = at::cat({x, at::ones({x.size(0), 1}, at::kDouble)}, 1), root = counts.sqrt().unsqueeze(1);
  const double mean_diagonal =
      (ones * ones * counts.unsqueeze(1)).sum().item<double>() / static_cast<double>(ones.size(1));
  const double scale = std::sqrt(penalty * mean_diagonal);
  const at::Tensor rows = at::cat({ones * root, scale * at::eye(ones.size(1), at::kDouble)});
  const at::Tensor wanted = at::cat({y * root, scale * start});
  return std::get<0>(at::linalg_lstsq(rows, wanted));
}

TEST(Ridge, solves_the_weighted_least_squares_problem) {
  torch::manual_seed(3);
  const at::Tensor x = torch::randn({40, 5}, at::kDouble), y = torch::randn({40, 3}, at::kDouble);
  const at::Tensor counts = torch::rand({40}, at::kDouble) + 0.5;
  const at::Tensor weight = torch::randn({3, 5}), bias = torch::randn({3});
  for (const double penalty : {1e-6, 0.1, 10.0}) {
    Ridge ridge(weight, bias);
    ridge.add(x.narrow(0, 0, 15), y.narrow(0, 0, 15), counts.narrow(0, 0, 15));
    ridge.add(x.narrow(0, 15, 25), y.narrow(0, 15, 25), counts.narrow(0, 15, 25));
    const Ridge::Solution got = ridge.solve(penalty);
    const at::Tensor start = at::cat({weight.t(), bias.unsqueeze(0)}).to(at::kDouble);
    const at::Tensor want = least_squares(x, y, counts, start, penalty);
    EXPECT_LT(largest(got.weight.t() - want.narrow(0, 0, 5)), 1e-5) << penalty;
    EXPECT_LT(largest(got.bias - want[5]), 1e-5) << penalty;
  }
}

double missed_tokens(models::Model& student, models::Model& teacher) {
  const at::NoGradGuard no_grad;
  return (student.tokens(images()) - teacher.tokens(images())).square().mean().item<double>();
}

TEST(FittedProjections, bring_the_tokens_closer_to_the_teachers) {
  const models::ModelPtr teacher = mini("full"), student = mini("fibottention");
  const double before = missed_tokens(*student, *teacher);
  int layers = 0;
  fit_projections(*student, *teacher, {images(), images()}, {.penalty = 1e-4, .class_weight = 1}, [&] { ++layers; });
  EXPECT_EQ(layers, 3);
  EXPECT_LT(missed_tokens(*student, *teacher), before);
}

TEST(FittedProjections, leave_dense_layers_and_all_else_alone) {
  const models::ModelPtr teacher = mini("full"), student = mini("fibottention", "1");
  fit_projections(*student, *teacher, {images()}, {}, [] {});
  for (const auto& item : student->named_parameters()) {
    const bool fitted = item.key().starts_with("blocks.1.attn.proj.");
    EXPECT_EQ(item.value().equal(teacher->named_parameters()[item.key()]), !fitted) << item.key();
  }
}

TEST(FittedProjections, need_a_chain_of_blocks) {
  const models::ModelPtr mvit = models::make("mini_mvitv2");
  const std::string error = test::error_of([&] { fit_projections(*mvit, *mvit, {images()}, {}, [] {}); });
  EXPECT_TRUE(mentions(error, "use adapt_ridge 0")) << error;
}

TEST(BranchDistance, is_what_single_layers_miss_on_the_teachers_tokens) {
  const models::ModelPtr teacher = mini("full"), student = mini("fibottention", "1");
  EXPECT_LT(branch_distance(*mini("fibottention", "1"), *student, images()).item<double>(), 1e-9) << "but for rounding";

  const at::NoGradGuard no_grad;
  BlockWatch watch(*teacher, /*branches=*/true);
  teacher->forward(images());
  const at::Tensor want = watch.views[1].branch;
  const at::Tensor missed = blocks_of(*student)[1]->attention_branch(watch.views[0].output) - want;
  const auto square = [](const at::Tensor& t) {
    double patches = 0, cls = 0;
    for (int64_t token = 0; token < t.size(1); ++token)
      (token == 0 ? cls : patches) += t.select(1, token).square().mean().item<double>();
    return (patches / static_cast<double>(t.size(1) - 1) + cls) / 2;
  };
  EXPECT_NEAR(branch_distance(*student, *teacher, images()).item<double>(), square(missed) / square(want), 1e-5);
}

TEST(BranchDistance, passes_no_gradient_from_block_to_block) {
  const models::ModelPtr teacher = mini("full"), student = mini("fibottention", "1");
  branch_distance(*student, *teacher, images()).backward();
  for (const auto& item : student->named_parameters()) {
    const bool learns = item.key().starts_with("blocks.1.attn.") || item.key().starts_with("blocks.1.norm1.");
    EXPECT_EQ(item.value().grad().defined(), learns) << item.key();
  }
}

TEST(Bfloat16Products, leave_parameters_and_the_loss_in_float32) {
  AdaptationTask task(small_adaptation(), mini("fibottention"), {mini("full"), {}});
  const TaskBatch batch{{images(), at::full({4}, 1.0, at::kDouble)}};
  const double exact = task.loss(batch).item<double>();
  at::Tensor loss;
  {
    const ops::Bfloat16Products products(true);
    EXPECT_TRUE(ops::has_bfloat16_products());
    loss = task.loss(batch);
  }
  EXPECT_FALSE(ops::has_bfloat16_products());
  loss.backward();
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  EXPECT_NE(loss.item<double>(), exact);
  EXPECT_NEAR(loss.item<double>(), exact, 0.02 * exact + 1e-3);
  for (const auto& item : task.model()->named_parameters()) EXPECT_EQ(item.value().grad().scalar_type(), at::kFloat);
}

TEST(Adaptation, cannot_fit_projections_to_pairs_that_still_fade) {
  Recipe recipe = small_adaptation();
  recipe.adapt.ridge_images = 4;
  const std::string error = test::error_of([&] { AdaptationTask(recipe, mini("fibottention"), {mini("full"), {}}); });
  EXPECT_TRUE(mentions(error, "adapt_fade_fraction 0")) << error;
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
