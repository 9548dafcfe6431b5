// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <stdexcept>

#include "golden_torch.h"
#include "models/torch/vit.h"
#include "training/torch/pruning.h"

namespace fib::training {
namespace {

const nlohmann::json& golden_upop() {
  static const nlohmann::json values = golden::read_json("upop.json");
  return values;
}

at::Tensor rows(const nlohmann::json& json) {
  std::vector<double> flat;
  for (const auto& row : json)
    for (const auto& value : row) flat.push_back(value.get<double>());
  return at::tensor(flat, at::kDouble).view({static_cast<int64_t>(json.size()), -1});
}

TEST(Upop, updates_masks_as_the_reference_does) {
  const ChannelValues saliency{golden::tensor("upop.attn", {2, 4}), golden::tensor("upop.mlp", {2, 8})};
  for (const auto& [share, want] : golden_upop()["updates"].items()) {
    SCOPED_TRACE(share);
    const MaskUpdate got = updated_masks(saliency, {std::stod(share), 0.5, 12});
    EXPECT_NEAR(got.threshold, want["threshold"].get<double>(), 1e-12);
    EXPECT_TRUE(got.masks.attention.allclose(rows(want["alpha_attn"]), 0, 1e-12));
    EXPECT_TRUE(got.masks.hidden.allclose(rows(want["alpha_mlp"]), 0, 1e-12));
  }
}

TEST(Upop, prunes_more_and_more_up_to_the_ratio) {
  for (const auto& [step, want] : golden_upop()["pi_schedule_p0.5_total1000"].items()) {
    EXPECT_NEAR(pruning_share(0.5, std::stoll(step), 1000), want.get<double>(), 1e-12) << step;
  }
}

TEST(Upop, weighs_an_attention_channel_of_deit_small_as_twelve_hidden_ones) { EXPECT_EQ(attention_weight(384, 6), 12); }

TEST(Upop, keeps_a_channel_in_every_block) {
  const ChannelValues alike{at::ones({2, 4}), at::arange(16.0).view({2, 8})};
  const MaskUpdate got = updated_masks(alike, {0.99, 0.99, 12});
  EXPECT_GE(got.masks.attention.sum(1).min().item<double>(), 1.0);
  EXPECT_GE(got.masks.hidden.sum(1).min().item<double>(), 1.0);
}

models::ModelPtr mini(const char* attention = "fibottention") {
  models::Options options;
  options.attention = AttentionSpec::parse(attention);
  return models::make("mini_vit", options);
}

PruningSettings half() {
  PruningSettings settings;
  settings.ratio = 0.5;
  settings.interval = 2;
  return settings;
}

/// A few steps on random pictures, as the trainer makes them.
void search(models::Model& model, PruningSearch& pruning, int64_t steps) {
  ProcessGroup alone;
  torch::optim::AdamW optimiser(model.parameters(), torch::optim::AdamWOptions(1e-3));
  for (int64_t step = 0; step < steps; ++step) {
    optimiser.zero_grad();
    const at::Tensor loss = at::cross_entropy_loss(model.forward(torch::randn({2, 3, 64, 64})), at::arange(2));
    (loss + pruning.penalty()).backward();
    pruning.collect(alone);
    optimiser.step();
    pruning.stepped(step, steps);
  }
}

TEST(PruningSearch, ends_with_masks_of_zero_and_one_and_the_share_asked_for) {
  torch::manual_seed(1);
  const models::ModelPtr model = mini();
  PruningSearch pruning(model, half());
  search(*model, pruning, 5);
  double kept = 0, all = 0;
  for (const models::ChannelMasks& mask : pruning.masks()) {
    for (const auto& [values, weight] : {std::pair{mask.attention, 6.0}, std::pair{mask.hidden, 1.0}}) {
      EXPECT_TRUE(values.eq(0.0).logical_or(values.eq(1.0)).all().item<bool>());
      kept += weight * values.sum().item<double>();
      all += weight * static_cast<double>(values.numel());
    }
  }
  EXPECT_NEAR(kept / all, 0.5, 0.02);
}

TEST(PruningSearch, continues_from_its_state) {
  torch::manual_seed(1);
  const models::ModelPtr model = mini();
  PruningSearch pruning(model, half());
  search(*model, pruning, 3);
  PruningSearch resumed(mini(), half());
  resumed.state().copy_(pruning.state());
  for (size_t i = 0; i < pruning.masks().size(); ++i) {
    EXPECT_TRUE(resumed.masks()[i].hidden.equal(pruning.masks()[i].hidden));
  }
}

TEST(PruningSearch, refuses_what_it_cannot_prune) {
  EXPECT_THROW(PruningSearch(models::make("mini_swin"), half()), std::invalid_argument);
  EXPECT_THROW(PruningSearch(mini("efficient"), half()), std::invalid_argument);
}

TEST(Compression, computes_what_the_masked_model_does_with_fewer_parameters) {
  for (const char* attention : {"full", "fibottention", "topk"}) {
    SCOPED_TRACE(attention);
    torch::manual_seed(2);
    const models::ModelPtr model = mini(attention);
    PruningSearch pruning(model, half());
    search(*model, pruning, 5);
    const models::ModelPtr small = compressed(dynamic_cast<models::Vit&>(*model), pruning.masks());
    const at::NoGradGuard no_grad;
    model->eval();
    small->eval();
    const at::Tensor x = torch::randn({2, 3, 64, 64});
    EXPECT_TRUE(small->forward(x).allclose(model->forward(x), 1e-4, 1e-5));
    EXPECT_LT(small->cost().parameters, model->cost().parameters * 2 / 3);
    int64_t count = 0;
    for (const at::Tensor& parameter : small->parameters()) count += parameter.numel();
    EXPECT_EQ(count, small->cost().parameters);
  }
}

}  // namespace
}  // namespace fib::training
