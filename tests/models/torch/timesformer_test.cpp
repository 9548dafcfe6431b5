// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "files.h"
#include "helpers.h"
#include "models/torch/weights.h"

namespace fib::models {
namespace {

Options clip_options(const std::string& attention, AttentionIn where) {
  Options options = with_attention(attention);
  options.attention_in = where;
  return options;
}

std::vector<AttentionIn> places() {
  return {AttentionIn::spatial, AttentionIn::temporal, AttentionIn::both, AttentionIn::joint};
}

TEST(Timesformer, learns_with_every_mechanism_in_every_place) {
  for (AttentionIn where : places()) {
    for (const attention::MechanismInfo& m : attention::mechanisms()) {
      SCOPED_TRACE(to_string(where) + " " + m.name);
      torch::manual_seed(3);
      const ModelPtr model = make("mini_timesformer", clip_options(m.name, where));
      const at::Tensor clips = images(*model, 2), labels = at::arange(2);
      torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.02));
      std::vector<double> losses;
      for (int step = 0; step < 3; ++step) {
        optimizer.zero_grad();
        const at::Tensor loss = at::cross_entropy_loss(model->forward(clips), labels);
        loss.backward();
        optimizer.step();
        losses.push_back(loss.item<double>());
      }
      EXPECT_LT(losses[1], losses[0]);
      EXPECT_LT(losses[2], losses[1]);
    }
  }
}

TEST(Timesformer, replaces_the_attention_that_was_asked_for_and_no_other) {
  const auto replaced = [](AttentionIn where) {
    std::string letters;
    for (const AttentionLayer& layer :
         attention_layers(dimensions("mini_timesformer", clip_options("fibottention", where))))
      letters += layer.attention.name == "fibottention" ? (layer.geometry.cls == 0 ? 't' : 's') : '.';
    return letters;
  };
  EXPECT_EQ(replaced(AttentionIn::spatial), ".s.s");
  EXPECT_EQ(replaced(AttentionIn::temporal), "t.t.");
  EXPECT_EQ(replaced(AttentionIn::both), "tsts");
  EXPECT_EQ(replaced(AttentionIn::joint), "ss");
  const auto joint = attention_layers(dimensions("mini_timesformer", clip_options("full", AttentionIn::joint)));
  EXPECT_EQ(joint.front().geometry.query_tokens(), 1 + 64 * 4);
}

TEST(Timesformer, has_the_parameters_that_are_counted_wherever_attention_is) {
  for (AttentionIn where : places()) {
    const ModelPtr model = make("mini_timesformer", clip_options("linformer", where));
    int64_t count = 0;
    for (const at::Tensor& parameter : model->parameters()) count += parameter.numel();
    EXPECT_EQ(count, model->cost().parameters) << to_string(where);
  }
  Options options;
  options.classes = 400;
  EXPECT_EQ(cost(dimensions("timesformer_base_T8", options)).parameters, 121566352);
}

/// Frames that are all the same image: what attention over time finds counts nothing at first, so what is left is the
/// image model.
TEST(Timesformer, begins_as_the_image_model_whose_weights_it_is_given) {
  const at::NoGradGuard no_grad;
  const test::TemporaryDirectory folder;
  Options options = with_attention("fibottention");
  options.classes = 7;
  torch::manual_seed(1);
  const ModelPtr vit = make("vit_tiny_patch16_224", options);
  vit->to(at::kDouble);
  vit->eval();
  save_weights(*vit, folder / "vit.safetensors");
  options.resolution = 64;
  options.frames = 3;
  const ModelPtr clips =
      make_with_weights("timesformer_tiny_patch16_224", folder / "vit.safetensors", options, {.type = at::kDouble});
  clips->eval();
  vit->set_resolution(64, 64);
  const at::Tensor image = torch::randn({2, 3, 64, 64}, at::kDouble);
  const at::Tensor still = image.unsqueeze(2).expand({2, 3, 3, 64, 64});
  EXPECT_LT((clips->forward(still) - vit->forward(image)).abs().max().item<double>(), 1e-12);
  const auto parameters = clips->named_parameters();
  EXPECT_TRUE(parameters["blocks.4.temporal_attn.qkv.weight"].equal(parameters["blocks.4.attn.qkv.weight"]));
  EXPECT_EQ(parameters["blocks.4.temporal_fc.weight"].abs().sum().item<double>(), 0.0);
}

TEST(Timesformer, takes_its_own_weights_with_other_numbers_of_frames) {
  const test::TemporaryDirectory folder;
  const auto file = folder / "clips.safetensors";
  const ModelPtr four = make("mini_timesformer");
  {
    const at::NoGradGuard no_grad;
    four->named_parameters()["time_embed"].copy_(at::arange(4).view({1, 4, 1}).expand({1, 4, 48}));
  }
  save_weights(*four, file);
  EXPECT_EQ(make_with_weights("mini_timesformer", file)->dimensions().frames(), 4);
  Options options;
  options.frames = 8;
  const at::Tensor times = make_with_weights("mini_timesformer", file, options)->named_parameters()["time_embed"];
  ASSERT_EQ(times.size(1), 8);
  for (int64_t t = 1; t < 8; ++t) EXPECT_GT(times[0][t][0].item<float>(), times[0][t - 1][0].item<float>());
}

TEST(Timesformer, refuses_images_and_what_does_not_fit) {
  const ModelPtr model = make("mini_timesformer");
  EXPECT_EQ(test::error_of([&] {
              model->forward(torch::randn({1, 3, 64, 64}));
            }),
            "mini_timesformer takes clips [B, 3, 4, 64, 64], got [1, 3, 64, 64]");
  Options options;
  options.frames = 8;
  EXPECT_NE(test::error_of([&] { make("mini_vit", options); }).find("takes images"), std::string::npos);
  options = {};
  options.attention_in = AttentionIn::joint;
  EXPECT_NE(test::error_of([&] { make("mini_vit", options); }).find("attention_in = joint"), std::string::npos);
}

}  // namespace
}  // namespace fib::models
