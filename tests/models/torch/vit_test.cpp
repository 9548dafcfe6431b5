// SPDX-License-Identifier: Apache-2.0
#include "models/torch/vit.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "helpers.h"
#include "models/torch/layers.h"

namespace fib::models {
namespace {

TEST(Vit, is_initialized_like_timm) {
  torch::manual_seed(1);
  const ModelPtr model = make("vit_milli_patch2_28");
  const auto p = model->named_parameters();
  EXPECT_NEAR(p["blocks.0.attn.qkv.weight"].std().item<double>(), 0.02, 5e-4);
  EXPECT_NEAR(p["pos_embed"].std().item<double>(), 0.02, 5e-4);
  EXPECT_LT(p["cls_token"].abs().max().item<double>(), 1e-5);
  EXPECT_EQ(p["blocks.1.mlp.fc1.bias"].abs().max().item<double>(), 0.0);
  EXPECT_EQ(p["norm.weight"].min().item<double>(), 1.0);
  const double bound = 1 / std::sqrt(3.0 * 2 * 2);
  EXPECT_LE(p["patch_embed.proj.weight"].abs().max().item<double>(), bound);
  EXPECT_GT(p["patch_embed.proj.weight"].abs().max().item<double>(), 0.9 * bound);
}

TEST(Vit, embeds_patches_as_a_convolution_does) {
  PatchEmbed embed(3, 5, 4);
  embed.initialize();
  const auto p = embed.named_parameters();
  const at::Tensor x = torch::randn({2, 3, 14, 9});
  const at::Tensor want = at::conv2d(x, p["proj.weight"], p["proj.bias"], 4).flatten(2).transpose(1, 2);
  EXPECT_LT((embed.forward(x) - want).abs().max().item<double>(), 1e-5);
}

TEST(Vit, classifies_the_class_token_or_the_mean_of_the_others) {
  const at::NoGradGuard no_grad;
  Options options;
  const ModelPtr token = make("mini_vit", options);
  token->eval();
  const at::Tensor x = images(*token, 2);
  EXPECT_LT((token->features(x) - token->tokens(x).select(1, 0)).abs().max().item<double>(), 1e-5);
  EXPECT_TRUE(token->forward(x).equal(token->classify(token->features(x))));

  options.pool = Pool::mean;
  const ModelPtr mean = make("mini_vit", options);
  EXPECT_TRUE(mean->named_parameters().contains("fc_norm.weight"));
  EXPECT_FALSE(mean->named_parameters().contains("norm.weight"));
  EXPECT_EQ(mean->forward(x).sizes(), (at::IntArrayRef{2, 10}));
}

TEST(Vit, shows_maps_and_head_outputs_of_a_layer) {
  for (const char* spec : {"full", "fibottention", "efficient"}) {
    const at::NoGradGuard no_grad;
    const ModelPtr model = make("mini_vit", with_attention(spec));
    const at::Tensor x = images(*model, 2);
    const LayerView view = model->inspect(x, 2);
    EXPECT_TRUE(model->head_outputs(x, 2).equal(view.head_outputs)) << spec;
    EXPECT_EQ(view.probabilities.sizes(), (at::IntArrayRef{2, 3, 65, 65})) << spec;
    EXPECT_EQ(view.head_outputs.sizes(), (at::IntArrayRef{2, 3, 65, 16})) << spec;
    EXPECT_LT((view.probabilities.sum(-1) - 1).abs().max().item<double>(), 1e-5) << spec;
  }
  EXPECT_THROW(make("mini_vit")->inspect(torch::randn({1, 3, 64, 64}), 3), std::invalid_argument);
}

TEST(Vit, remakes_supports_and_positions_for_another_resolution) {
  const ModelPtr model = make("mini_vit", with_attention("fibottention"));
  const int64_t pairs = model->attentions()[0]->cost().pairs;
  const at::Tensor before = model->named_parameters()["pos_embed"].detach().clone();
  model->set_resolution(96, 80);
  const at::Tensor after = model->named_parameters()["pos_embed"].detach();
  EXPECT_EQ(after.size(1), 1 + 12 * 10);
  EXPECT_TRUE(after.narrow(1, 0, 1).equal(before.narrow(1, 0, 1)));
  EXPECT_GT(model->attentions()[0]->cost().pairs, pairs);
  EXPECT_EQ(model->forward(torch::randn({1, 3, 96, 80})).sizes(), (at::IntArrayRef{1, 10}));
  EXPECT_THROW(model->forward(torch::randn({1, 3, 64, 64})), std::invalid_argument);
}

TEST(Vit, interpolates_positions_with_the_class_part_kept) {
  const at::Tensor flat = at::full({1, 1 + 16, 3}, 2.0, at::kDouble);  // in float32 LibTorch's weights sum to 1 ± 1e-6
  flat.select(1, 0).fill_(5.0);
  const at::Tensor resized = resize_positions(flat, 1, {4, 4}, {6, 3});
  EXPECT_EQ(resized.sizes(), (at::IntArrayRef{1, 19, 3}));
  EXPECT_EQ(resized.select(1, 0).min().item<double>(), 5.0);
  EXPECT_LT((resized.narrow(1, 1, 18) - 2.0).abs().max().item<double>(), 1e-14);
}

TEST(Vit, refuses_another_resolution_where_tokens_are_learned) {
  const ModelPtr model = make("mini_vit", with_attention("linformer"));
  EXPECT_THROW(model->set_resolution(96, 96), std::invalid_argument);
  EXPECT_EQ(model->dimensions().height, 64);
}

TEST(Vit, drops_paths_and_weights_in_training_only) {
  const at::NoGradGuard no_grad;
  Options options;
  options.drop_path = 0.5;
  options.dropout = 0.1;
  options.attention_dropout = 0.1;
  const ModelPtr model = make("mini_vit", options);
  const at::Tensor x = images(*model, 2);
  EXPECT_FALSE(model->forward(x).equal(model->forward(x)));
  model->eval();
  EXPECT_TRUE(model->forward(x).equal(model->forward(x)));
}

TEST(Vit, takes_grey_pictures_where_asked) {
  Options options;
  options.channels = 1;
  const ModelPtr model = make("vit_nano_patch2_28", options);
  EXPECT_EQ(model->forward(torch::randn({2, 1, 28, 28})).sizes(), (at::IntArrayRef{2, 10}));
}

TEST(DropPath, drops_whole_samples_and_keeps_the_mean) {
  torch::manual_seed(5);
  const at::Tensor dropped = drop_path(at::ones({4000, 2, 3}), 0.25, true);
  const at::Tensor per_sample = dropped.flatten(1);
  EXPECT_TRUE(per_sample.amax(1).equal(per_sample.amin(1)));
  EXPECT_NEAR(dropped.mean().item<double>(), 1.0, 0.03);
  EXPECT_NEAR(dropped.max().item<double>(), 1 / 0.75, 1e-6);
}

}  // namespace
}  // namespace fib::models
