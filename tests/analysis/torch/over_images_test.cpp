// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/over_images.h"

#include <gtest/gtest.h>

#include "analysis/torch/attention_maps.h"
#include "analysis/torch/measures.h"
#include "noise_model.h"

namespace fib::analysis {
namespace {

at::Tensor input(const training::TrainedModel& s, size_t index) {
  at::Tensor x = at::empty({1, 3, 64, 64});
  CounterRng unused(0);
  Pipeline(s.view).apply(s.dataset->image(index), unused, x.data_ptr<float>());
  return x;
}

TEST(OverImages, diversity_is_that_of_each_image_in_order) {
  const DatasetPtr images = noise_images(5);
  const training::TrainedModel s = untrained_model("fibottention", images);
  int64_t last = 0;
  const std::vector<double> values = diversity_over(s, images, 2, [&](int64_t done) { last = done; });
  ASSERT_EQ(values.size(), 5U);
  EXPECT_EQ(last, 5);
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(values[i], head_diversity(s.module->inspect(input(s, i), 2).head_outputs).item<double>(), 1e-3);
}

TEST(OverImages, inside_attention_is_averaged_over_images_that_have_a_region) {
  const DatasetPtr images = noise_images(4);
  const training::TrainedModel s = untrained_model("full", images);
  const auto left_half_of_odd_images = [](const Dataset&, size_t index) {
    PatchRegion region(64, false);
    for (size_t p = 0; p < 64; ++p) region[p] = index % 2 == 1 && p % 8 < 4;
    return region;
  };
  const InsideOver found = inside_over(s, images, 1, left_half_of_odd_images, {});
  EXPECT_EQ(found.images, 2);
  EXPECT_DOUBLE_EQ(found.region_share, 0.5);
  EXPECT_NEAR(found.mean.each.mean, 1.0 / 65, 1e-3) << "an untrained model attends nearly evenly";
  EXPECT_THROW(inside_over(s, images, 1, [](const Dataset&, size_t) { return PatchRegion(64, false); }, {}),
               std::invalid_argument);
}

TEST(Predictions, are_the_largest_logits_in_order) {
  const DatasetPtr images = noise_images(5);
  const training::TrainedModel s = untrained_model("full", images);
  training::TorchPredictor predictor(s);
  const auto list = prediction::predict_over(predictor, *s.loader(images));
  ASSERT_EQ(list.size(), 5U);
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(list[i].index, i);
    EXPECT_EQ(list[i].predicted, s.module->forward(input(s, i))[0].argmax().item<int64_t>());
  }
}

TEST(AttentionMaps, show_what_the_layers_weigh) {
  const DatasetPtr images = noise_images(1);
  for (const char* attention : {"full", "fibottention", "efficient"}) {
    const training::TrainedModel s = untrained_model(attention, images);
    const AttentionMaps maps = attention_maps(*s.module, input(s, 0), 27);
    ASSERT_EQ(maps.from_cls.sizes(), at::IntArrayRef({3, 3, 64})) << attention;
    const at::NoGradGuard no_grad;
    const at::Tensor weights = s.module->inspect(input(s, 0), 2).probabilities[0];
    EXPECT_TRUE(maps.from_patch[2].equal(weights.select(1, 28).narrow(1, 1, 64))) << attention;
    EXPECT_TRUE(maps.from_cls[2].equal(weights.select(1, 0).narrow(1, 1, 64))) << attention;
    EXPECT_GT(maps.rollout.min().item<double>(), 0) << attention;
    EXPECT_LT(maps.rollout.sum().item<double>(), 1) << attention << ": the class token keeps its share";
  }
}

TEST(AttentionMaps, are_refused_where_there_are_none) {
  const DatasetPtr images = noise_images(1);
  const training::TrainedModel s = untrained_model("linformer", images);
  EXPECT_THROW(attention_maps(*s.module, input(s, 0), 0), std::invalid_argument);
  EXPECT_THROW(attention_maps(*untrained_model("full", images).module, input(s, 0), 64), std::invalid_argument);
}

TEST(AttentionMaps, need_a_class_token_that_sees_every_patch_in_every_layer) {
  for (const char* model : {"mini_swin", "mini_cvt", "mini_mvitv2", "mini_iformer"}) {
    const auto reason = why_no_attention_maps(*models::make(model, {}));
    ASSERT_TRUE(reason) << model;
    EXPECT_NE(reason->find(model), std::string::npos) << *reason;
  }
  EXPECT_FALSE(why_no_attention_maps(*models::make("mini_vit", {})));
}

}  // namespace
}  // namespace fib::analysis
