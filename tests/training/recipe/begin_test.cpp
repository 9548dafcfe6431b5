// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/begin.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/safetensors.h"
#include "files.h"
#include "training/recipe/options.h"

namespace fib::training {
namespace {

using test::error_of;
using test::mentions;
using test::TemporaryDirectory;

class BeginsWithWeights : public testing::Test {
 protected:
  /// A file with the first and last shapes of a ViT and what its metadata say.
  std::string weights(const TensorMetadata& metadata = {}, int64_t dim = 192, int64_t depth = 12) const {
    const std::vector<float> zeros(static_cast<size_t>(std::max<int64_t>(1000, 3 * 16 * 16) * dim));
    const auto view = [&](const std::string& name, const std::vector<int64_t>& shape) {
      size_t count = 1;
      for (const int64_t side : shape) count *= static_cast<size_t>(side);
      return TensorView{name, TensorType::f32, shape, std::as_bytes(std::span(zeros.data(), count))};
    };
    std::vector<TensorView> tensors = {view("patch_embed.proj.weight", {dim, 3, 16, 16}),
                                       view("head.weight", {1000, dim})};
    for (int64_t block = 0; block < depth; ++block)
      tensors.push_back(view("blocks." + std::to_string(block) + ".norm1.bias", {dim}));
    write_safetensors(directory_ / "w.safetensors", tensors, metadata);
    return directory_ / "w.safetensors";
  }
  Recipe open_with(const std::string& file) const {
    Recipe recipe = open_recipe({});
    recipe.model.weights = file;
    return recipe;
  }

  TemporaryDirectory directory_;
};

TEST_F(BeginsWithWeights, takes_what_their_metadata_say) {
  const Recipe recipe = settled_recipe(open_with(weights({{"model", "vit_tiny_patch16_224"},
                                                          {"attention", "local:w=3"},
                                                          {"resolution", "384"},
                                                          {"pool", "mean"},
                                                          {"crop_ratio", "0.75"},
                                                          {"attention_layers", "6-11"}})));
  EXPECT_EQ(recipe.model.name, "vit_tiny_patch16_224");
  EXPECT_EQ(recipe.model.attention, "local:w=3");
  EXPECT_EQ(recipe.model.attention_layers, "6-11");
  EXPECT_EQ(recipe.model.resolution, 384);
  EXPECT_EQ(recipe.model.pool, "mean");
  EXPECT_EQ(recipe.augment.eval_crop, 0.75);
}

TEST_F(BeginsWithWeights, are_dense_and_published_where_they_say_nothing) {
  Recipe recipe = open_with(weights());
  recipe.model.name = "vit_tiny_patch16_224";
  recipe = settled_recipe(recipe);
  EXPECT_EQ(recipe.model.attention, "full");
  EXPECT_EQ(recipe.augment.eval_crop, 0.9);  // of timm's weights
  EXPECT_EQ(recipe.model.pool, "token");
}

TEST_F(BeginsWithWeights, but_what_the_recipe_says_stands) {
  Recipe recipe = open_with(weights({{"model", "vit_tiny_patch16_224"},
                                     {"attention", "local:w=3"},
                                     {"crop_ratio", "0.75"},
                                     {"attention_layers", "1"}}));
  recipe.model.attention = "fibottention";
  recipe.augment.eval_crop = 1;
  recipe = settled_recipe(recipe);
  EXPECT_EQ(recipe.model.attention, "fibottention");
  EXPECT_EQ(recipe.model.attention_layers, "");  // of the other attention
  EXPECT_EQ(recipe.augment.eval_crop, 1);
}

TEST_F(BeginsWithWeights, asks_for_a_model_and_names_those_that_fit) {
  const std::string error = error_of([&] { settled_recipe(open_with(weights())); });
  EXPECT_TRUE(mentions(error, "does not say which model it is of: give --model"));
  EXPECT_TRUE(mentions(error, "the shapes of vit_tiny_patch16_224 or deit_tiny_patch16_224"));
  EXPECT_FALSE(mentions(error, "vit_small"));
  EXPECT_TRUE(mentions(error_of([&] { settled_recipe(open_with("/no/such.safetensors")); }), "/no/such.safetensors"));
}

TEST_F(BeginsWithWeights, of_images_leave_size_and_crop_of_a_model_for_clips) {
  Recipe recipe = open_with(weights({{"model", "vit_tiny_patch16_224"},
                                     {"attention", "fibottention"},
                                     {"resolution", "384"},
                                     {"crop_ratio", "0.75"}}));
  recipe.model.name = "timesformer_tiny_patch16_224";
  recipe = settled_recipe(recipe);
  EXPECT_EQ(recipe.model.attention, "fibottention");
  EXPECT_EQ(recipe.model.resolution, 0);
  EXPECT_EQ(recipe.augment.eval_crop, 1);
}

TEST(OpenRecipe, without_weights_gets_its_defaults) {
  EXPECT_EQ(settled_recipe(open_recipe({})), Recipe());
  EXPECT_EQ(closed_recipe(open_recipe({})), Recipe());
}

TEST(OpenRecipe, has_the_division_of_a_folder_written_out_once) {
  const TemporaryDirectory photos;
  Recipe recipe;
  recipe.data.source = "folder:" + photos.path().string();
  const Recipe settled = settled_recipe(recipe);
  EXPECT_EQ(settled.data.source, recipe.data.source + "?test=0.2&seed=0");
  EXPECT_EQ(settled_recipe(settled), settled);
}

TEST(Freeze, takes_a_number_of_blocks_or_all) {
  EXPECT_FALSE(frozen_blocks("").has_value());
  EXPECT_EQ(frozen_blocks("3"), 3);
  EXPECT_EQ(frozen_blocks("all"), kAllFrozen);
  for (const char* bad : {"0", "-1", "half", "2.5"})
    EXPECT_TRUE(mentions(error_of([&] { frozen_blocks(bad); }), "accepted a number of blocks from 1, or all")) << bad;
}

TEST(Freeze, and_early_stopping_need_something_to_work_with) {
  Recipe recipe;
  recipe.model.freeze = "2";
  EXPECT_TRUE(mentions(error_of([&] { check_recipe(recipe); }), "freeze keeps values of weights: give --weights"));
  recipe.model.freeze = "";
  recipe.schedule.early_stop = 2;
  recipe.data.validation_fraction = 0;
  EXPECT_TRUE(mentions(error_of([&] { check_recipe(recipe); }), "early_stop looks at the validation set"));
}

}  // namespace
}  // namespace fib::training
