// SPDX-License-Identifier: Apache-2.0
#include "bench/torch/attention_choice.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "analysis/torch/noise_model.h"
#include "files.h"
#include "training/torch/classification.h"

namespace fib::bench {
namespace {

using test::error_of;
using test::mentions;
using Table = std::vector<std::vector<double>>;

double sum_of(const Table& table, const Assignment& assignment) {
  double sum = 0;
  for (size_t i = 0; i < table.size(); ++i) sum += table[i][assignment[i]];
  return sum;
}

/// Every assignment of `candidates` to `layers`.
std::vector<Assignment> all_of(size_t layers, size_t candidates) {
  std::vector<Assignment> all = {{}};
  for (size_t i = 0; i < layers; ++i) {
    std::vector<Assignment> longer;
    for (const Assignment& a : all)
      for (size_t k = 0; k < candidates; ++k) {
        longer.push_back(a);
        longer.back().push_back(k);
      }
    all = std::move(longer);
  }
  return all;
}

TEST(Tradeoff, has_no_assignment_that_any_other_beats) {
  std::mt19937 draw(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int round = 0; round < 20; ++round) {
    Table loss(4, std::vector<double>(3)), ms(4, std::vector<double>(3));
    for (Table* table : {&loss, &ms})
      for (auto& row : *table)
        for (double& x : row) x = uniform(draw);
    const std::vector<Assignment> curve = tradeoff(loss, ms);
    for (const Assignment& a : curve)
      for (const Assignment& other : all_of(4, 3))
        EXPECT_FALSE(sum_of(ms, other) < sum_of(ms, a) - 1e-12 && sum_of(loss, other) < sum_of(loss, a) - 1e-12);
    for (size_t i = 1; i < curve.size(); ++i) {
      EXPECT_LT(sum_of(ms, curve[i]), sum_of(ms, curve[i - 1]));
      EXPECT_GT(sum_of(loss, curve[i]), sum_of(loss, curve[i - 1]));
    }
    // From the least loss there is to the least time.
    for (const Assignment& other : all_of(4, 3)) {
      EXPECT_GE(sum_of(loss, other), sum_of(loss, curve.front()) - 1e-12);
      EXPECT_GE(sum_of(ms, other), sum_of(ms, curve.back()) - 1e-12);
    }
  }
}

TEST(Tradeoff, replaces_first_where_it_is_cheapest) {
  const Table loss = {{0, 1, 5}, {0, 0.1, 9}}, ms = {{0, -1, -2}, {0, -1, -2}};
  EXPECT_EQ(tradeoff(loss, ms), (std::vector<Assignment>{{0, 0}, {0, 1}, {1, 1}, {2, 1}, {2, 2}}));
  EXPECT_EQ(tradeoff({{0, 0, 5}}, {{0, -1, 1}}), (std::vector<Assignment>{{1}})) << "what costs nothing is taken";
}

class Choice : public testing::Test {
 protected:
  Choice() : dense_(analysis::untrained_model("full", analysis::noise_images(6))) {
    const at::NoGradGuard no_grad;
    for (auto& item : dense_.module->named_parameters())
      if (item.key().ends_with("qkv.weight")) item.value().mul_(8);  // else every attention is a mean
    options_.candidates = {{"full", {}}, {"fibottention", {}}, AttentionSpec::parse("fibottention:grid=3")};
    options_.offsets = directory_ / "attention.offsets";
    options_.points = 4;
    options_.timing = {.seconds = 0.01, .least_rounds = 1, .most_rounds = 1};
  }

  /// What a model with these weights says of the images.
  at::Tensor log_probabilities(const AttentionSpec& attention, const std::string& layers = "") {
    const at::NoGradGuard no_grad;
    models::Options options = dense_.module->dimensions().options;
    options.attention = attention;
    options.attention_layers = models::parse_layers(layers);
    const models::ModelPtr model = models::make("mini_vit", options);
    model->eval();
    for (auto& item : model->named_parameters()) item.value().copy_(dense_.module->named_parameters()[item.key()]);
    std::vector<at::Tensor> all;
    const auto loader = dense_.loader(dense_.dataset);
    BatchStream stream = loader->epoch(0);
    while (std::optional<Batch> batch = stream.next())
      all.push_back(at::log_softmax(model->forward(training::images_of(*batch)), 1));
    return at::cat(all);
  }

  test::TemporaryDirectory directory_;
  training::TrainedModel dense_;
  ChoiceOptions options_;
};

double divergence(const at::Tensor& wanted, const at::Tensor& got) {
  return (wanted.exp() * (wanted - got)).sum(1).mean().item<double>();
}

TEST_F(Choice, measures_each_candidate_in_each_layer_and_the_mixtures) {
  const AttentionChoice choice = measure_choice(dense_, dense_.dataset, options_);
  EXPECT_EQ(choice.images, 6);
  const at::Tensor wanted = log_probabilities({"full", {}});
  ASSERT_EQ(choice.loss.size(), 3U);
  for (size_t i = 0; i < 3; ++i)
    for (size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(choice.loss[i][k], divergence(wanted, log_probabilities(choice.candidates[k], std::to_string(i))),
                  1e-5)
          << i << " " << k;

  ASSERT_GE(choice.curve.size(), 2U);
  const ChoicePoint& last = choice.curve.back();
  write_assignment(options_.offsets, choice, last.assignment, dense_.module->dimensions());
  const at::Tensor got = log_probabilities(AttentionSpec::parse("offsets:" + options_.offsets.string()));
  EXPECT_NEAR(last.loss, divergence(wanted, got), 1e-5) << "the file says what was measured";
  const double kept = wanted.exp().gather(1, got.argmax(1, true)).sum().item<double>() /
                      std::get<0>(wanted.exp().max(1)).sum().item<double>();
  EXPECT_NEAR(last.kept, kept, 1e-6);
  EXPECT_GT(last.ms, 0);
  EXPECT_LT(last.pairs, 1);
  EXPECT_TRUE(log_probabilities({"full", {}}).equal(wanted)) << "the model is left as it was";
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_ / ""), {}), 1) << "and no other file";
}

AttentionChoice of_three() {
  AttentionChoice choice;
  choice.candidates = {{"full", {}}, AttentionSpec::parse("fibottention:grid=3")};
  choice.candidate_ms = {10, 4};
  choice.curve = {{{0, 0}, 0, 1, 10, 1}, {{1, 0}, 0.1, 0.99, 7, 0.5}, {{1, 1}, 0.4, 0.9, 4, 0.1}};
  return choice;
}

TEST(AttentionChoice, takes_the_fastest_that_keeps_enough_and_the_most_accurate_that_is_fast_enough) {
  const AttentionChoice choice = of_three();
  EXPECT_EQ(choice.keeping(0.95).ms, 7);
  EXPECT_EQ(choice.keeping(0.9).ms, 4);
  EXPECT_TRUE(mentions(error_of([&] { choice.keeping(0.995); }), "at most 0.990"));
  EXPECT_EQ(choice.faster(1.2).ms, 7);
  EXPECT_EQ(choice.faster(2).ms, 4);
  EXPECT_TRUE(mentions(error_of([&] { choice.faster(3); }), "at most 2.50"));
  EXPECT_EQ(choice.text_of(choice.curve[1]), "1 full; 0 fibottention:grid=3");
}

TEST_F(Choice, needs_layers_that_can_be_replaced_one_by_one) {
  dense_.model = "mini_mvitv2";
  dense_.module = models::make("mini_mvitv2");
  EXPECT_TRUE(mentions(error_of([&] { measure_choice(dense_, dense_.dataset, options_); }), "one by one"));
}

}  // namespace
}  // namespace fib::bench
