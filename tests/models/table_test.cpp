// SPDX-License-Identifier: Apache-2.0
#include "models/table.h"

#include <gtest/gtest.h>

#include <ctime>
#include <set>
#include <stdexcept>

#include "models/cost.h"

namespace fib::models {
namespace {

std::string error_of(const std::string& name, const Options& options) {
  try {
    dimensions(name, options);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

Options with_attention(const std::string& spec, int64_t resolution = 224) {
  Options options;
  options.attention = AttentionSpec::parse(spec);
  options.resolution = resolution;
  return options;
}

TEST(ModelTable, has_each_name_once_and_heads_that_divide_the_width) {
  std::set<std::string> names;
  for (const ModelRow& row : table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(row.dim % row.heads, 0) << row.name;
  }
}

TEST(ModelTable, gives_small_pictures_the_papers_grid) {
  for (const ModelRow& row : table()) {
    if (row.resolution != 28) continue;
    EXPECT_EQ(dimensions(row.name).grid(), (attention::Grid{14, 14})) << row.name;
  }
}

TEST(ModelTable, answers_an_unknown_name_with_the_nearest) {
  EXPECT_NE(error_of("vit_tiny_patch16_244", Options{}).find("'vit_tiny_patch16_224'"), std::string::npos);
}

TEST(ModelTable, refuses_choices_that_do_not_fit) {
  Options options;
  options.resolution = 7;
  EXPECT_NE(error_of("mini_vit", options).find("7 x 7"), std::string::npos);
  options = {};
  options.classes = 0;
  EXPECT_NE(error_of("mini_vit", options).find("classes"), std::string::npos);
  options = {};
  options.drop_path = 1.0;
  EXPECT_NE(error_of("mini_vit", options).find("drop path"), std::string::npos);
  EXPECT_NE(error_of("mini_vit", with_attention("fulll")).find("full"), std::string::npos);
}

TEST(ModelTable, cuts_what_is_left_of_a_patch) {
  Options options;
  options.resolution = 84;
  options.width = 76;
  options.patch = 8;
  EXPECT_EQ(dimensions("vit_base_patch16_224", options).grid(), (attention::Grid{10, 9}));
}

TEST(ModelTable, refuses_pictures_that_windows_do_not_tile) {
  Options options;
  options.resolution = 200;
  const std::string error = error_of("swin_tiny_patch4_window7_224", options);
  EXPECT_NE(error.find("multiples of 224"), std::string::npos) << error;
  EXPECT_NE(error.find("got 200 x 200"), std::string::npos) << error;
  options.resolution = 448;
  options.width = 224;
  EXPECT_EQ(error_of("swin_tiny_patch4_window7_224", options), "");
}

TEST(ModelTable, refuses_other_patches_where_convolutions_make_them) {
  Options options;
  options.patch = 8;
  for (const char* name : {"iFormer_t", "cvt_13_224", "mvitv2_small"}) {
    EXPECT_NE(error_of(name, options).find("got a patch of 8"), std::string::npos) << name;
  }
}

TEST(ModelTable, refuses_pruned_widths_that_do_not_fit) {
  Options options;
  options.widths = {{8, 100}, {8, 100}};
  EXPECT_NE(error_of("mini_vit", options).find("3 blocks, got widths for 2"), std::string::npos);
  EXPECT_NE(error_of("mini_swin", options).find("no pruned form"), std::string::npos);
  options.widths.push_back({0, 100});
  EXPECT_NE(error_of("mini_vit", options), "");
}

TEST(ModelTable, knows_how_the_published_weights_see_images) {
  const auto shorter = [](const char* name) { return static_cast<int64_t>(224 / find_row(name).crop_ratio + 1e-9); };
  EXPECT_EQ(shorter("vit_tiny_patch16_224"), 248);
  EXPECT_EQ(shorter("convit_base"), 256);
  EXPECT_EQ(find_row("vit_tiny_patch16_224").normalization.mean[0], 0.5f);
  EXPECT_EQ(find_row("deit_tiny_patch16_224").normalization.mean[0], 0.485f);
  EXPECT_EQ(find_row("swin_tiny_patch4_window7_224").normalization.std[2], 0.225f);
  for (const ModelRow& row : table())
    EXPECT_EQ(row.crop_ratio == 1, row.group != ModelGroup::published || row.frames > 0) << row.name;
}

double pruning_ratio(const AttentionLayer& layer) {
  return attention::cost(layer.attention, layer.geometry).pruning_ratio;
}

TEST(ModelCost, prunes_each_backbone_as_the_definition_says) {
  EXPECT_NEAR(cost(dimensions("convit_base", with_attention("fibottention:wmin=5,wmax=65"))).pruning_ratio, 0.98209,
              1e-5);
  EXPECT_NEAR(cost(dimensions("deit_small_patch16_224", with_attention("fibottention"))).pruning_ratio, 0.96460, 1e-5);
  const auto swin = attention_layers(dimensions("swin_base_patch4_window7_224", with_attention("fibottention")));
  EXPECT_NEAR(pruning_ratio(swin[0]), 0.91087, 1e-5);
  EXPECT_NEAR(pruning_ratio(swin[2]), 0.95346, 1e-5);
  EXPECT_EQ(pruning_ratio(swin[4]), 0.0);
  const auto iformer = attention_layers(dimensions("iFormer_t", with_attention("fibottention:wmax=65")));
  EXPECT_NEAR(pruning_ratio(iformer.front()), 0.91556, 1e-5);
  EXPECT_NEAR(pruning_ratio(iformer.back()), 0.74594, 1e-5);
}

/// A layer weighs what it costs: of iFormer-T's five attention blocks the three with 196 tokens cost nearly all.
TEST(ModelCost, weighs_the_pruning_of_layers_by_what_they_cost) {
  const Cost iformer = cost(dimensions("iFormer_t", with_attention("fibottention")));
  EXPECT_NEAR(iformer.pruning_ratio, 0.862, 5e-4);
  EXPECT_NEAR(iformer.pruning_ratio_by_cost, 0.907, 5e-4);
  const Cost vit = cost(dimensions("vit_base_patch16_224", with_attention("fibottention")));
  EXPECT_NEAR(vit.pruning_ratio_by_cost, vit.pruning_ratio, 1e-12) << "equal layers";
  EXPECT_EQ(cost(dimensions("vit_base_patch16_224", with_attention("full"))).pruning_ratio_by_cost, 0.0);
}

TEST(ModelCost, counts_each_layer_where_one_row_of_the_array_serves_all_heads) {
  const Dimensions d = dimensions("vit_base_patch16_224", with_attention("fibottention:heads=same"));
  double mean = 0;
  for (const AttentionLayer& layer : attention_layers(d)) mean += pruning_ratio(layer) / 12;
  EXPECT_NEAR(cost(d).pruning_ratio, mean, 1e-12);
}

/// Drawing the random pairs of a layer is nearly all of the work, so 24 layers would take 24 times as long as one.
TEST(ModelCost, counts_equal_layers_once) {
  Dimensions d = dimensions("vit_large_patch16_224", with_attention("random:ratio=0.9", 512));
  const auto cost_and_ticks = [&d](int64_t depth) {
    d.row.depth = depth;
    const std::clock_t start = std::clock();
    const Cost c = cost(d);
    return std::pair(c, std::clock() - start);
  };
  const auto [one, ticks_of_one] = cost_and_ticks(1);
  const auto [all, ticks_of_all] = cost_and_ticks(24);
  EXPECT_DOUBLE_EQ(all.scores, 24 * one.scores);
  EXPECT_DOUBLE_EQ(all.pruning_ratio, one.pruning_ratio);
  EXPECT_LT(ticks_of_all, 8 * ticks_of_one);
}

TEST(ModelCost, of_other_backbones_is_the_published_one) {
  EXPECT_NEAR(cost(dimensions("swin_tiny_patch4_window7_224")).total() / 1e9, 4.5, 0.05);
  EXPECT_NEAR(cost(dimensions("swin_base_patch4_window7_224")).total() / 1e9, 15.4, 0.05);
  EXPECT_NEAR(cost(dimensions("iFormer_t")).total() / 1e9, 0.53, 0.005);
  EXPECT_NEAR(cost(dimensions("iFormer_s")).total() / 1e9, 1.09, 0.005);
  EXPECT_NEAR(cost(dimensions("iFormer_m")).total() / 1e9, 1.64, 0.005);
  EXPECT_NEAR(cost(dimensions("mvitv2_small")).total() / 1e9, 7.0, 0.05);
}

TEST(ModelCost, has_the_published_numbers_of_parameters) {
  EXPECT_EQ(cost(dimensions("vit_tiny_patch16_224")).parameters, 5717416);
  EXPECT_EQ(cost(dimensions("vit_small_patch16_224")).parameters, 22050664);
  EXPECT_EQ(cost(dimensions("vit_base_patch16_224")).parameters, 86567656);
  EXPECT_EQ(cost(dimensions("vit_large_patch16_224")).parameters, 304326632);
  EXPECT_EQ(cost(dimensions("vit_base_patch16_224_10cls")).parameters, 85806346);
  EXPECT_EQ(cost(dimensions("convit_small")).parameters, 27777322);
  EXPECT_EQ(cost(dimensions("swin_base_patch4_window7_224")).parameters, 87768224);
  EXPECT_EQ(cost(dimensions("iFormer_m")).parameters, 8907424);
  EXPECT_EQ(cost(dimensions("cvt_13_224")).parameters, 19997480);
  EXPECT_EQ(cost(dimensions("mvitv2_small")).parameters, 34870216);
}

TEST(ModelCost, of_vit_base_is_the_published_one) {
  const Cost full = cost(dimensions("vit_base_patch16_224"));
  EXPECT_NEAR(full.total() / 1e9, 17.56, 0.01);
  EXPECT_NEAR((full.scores + full.values) / 1e9, 0.72, 0.005);
  const Cost sparse = cost(dimensions("vit_base_patch16_224", with_attention("fibottention")));
  EXPECT_NEAR((sparse.scores + sparse.values) / 1e9, 0.014, 0.0005);
  EXPECT_NEAR(sparse.pruning_ratio, 0.98006, 1e-5);
}

TEST(ModelLayers, are_written_as_numbers_and_ranges) {
  EXPECT_EQ(parse_layers("0-2,9"), (std::vector<int64_t>{0, 1, 2, 9}));
  EXPECT_EQ(parse_layers("9,1,0,1-2"), (std::vector<int64_t>{0, 1, 2, 9}));
  EXPECT_EQ(parse_layers(""), std::vector<int64_t>());
  EXPECT_EQ(layers_text({0, 1, 2, 9}), "0-2,9");
  EXPECT_EQ(layers_text({}), "");
  for (const char* bad : {"x", "3-1", "1,", ",1", "-1", "1-", "0-99999999999", "1 2"})
    EXPECT_THROW(parse_layers(bad), std::invalid_argument) << bad;
}

TEST(ModelLayers, that_are_chosen_take_the_attention_and_others_are_dense) {
  for (const char* name : {"vit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "mvitv2_small", "cvt_13_224",
                           "iFormer_s", "timesformer_small_patch16_224"}) {
    Options options = with_attention("fibottention");
    options.attention_layers = {1};
    for (const AttentionLayer& layer : attention_layers(dimensions(name, options))) {
      EXPECT_EQ(layer.replaced, layer.attention.name == "fibottention") << name;
      EXPECT_TRUE(layer.geometry.layer == 1 || layer.attention.name == "full") << name;
    }
  }
}

TEST(ModelLayers, cost_the_sum_of_both_kinds) {
  Options half = with_attention("fibottention");
  half.attention_layers = parse_layers("0-5");
  const double mixed = cost(dimensions("vit_tiny_patch16_224", half)).total();
  const double full = cost(dimensions("vit_tiny_patch16_224", with_attention("full"))).total();
  const double sparse = cost(dimensions("vit_tiny_patch16_224", with_attention("fibottention"))).total();
  EXPECT_NEAR(mixed, (full + sparse) / 2, 1);
}

TEST(ModelLayers, that_a_model_does_not_have_are_refused) {
  Options options = with_attention("fibottention");
  options.attention_layers = {11, 12};
  EXPECT_THROW(dimensions("vit_tiny_patch16_224", options), std::invalid_argument);
  options.attention_layers = {0};  // it has gated positional attention there
  EXPECT_THROW(dimensions("convit_tiny", options), std::invalid_argument);
}

TEST(ModelCost, saves_a_share_that_grows_with_the_resolution) {
  double before = 0;
  for (int64_t resolution : {224, 384, 512, 768, 1024}) {
    const double full = cost(dimensions("vit_base_patch16_224", with_attention("full", resolution))).total();
    const double sparse = cost(dimensions("vit_base_patch16_224", with_attention("fibottention", resolution))).total();
    const double saved = 1 - sparse / full;
    EXPECT_GT(saved, before);
    before = saved;
  }
  EXPECT_NEAR(before, 0.47, 0.02);
}

}  // namespace
}  // namespace fib::models
