// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "attention/registry.h"
#include "files.h"
#include "models/table.h"
#include "training/recipe/options.h"

namespace fib::training {
namespace {

std::filesystem::path recipe_file(const std::string& name) {
  return std::filesystem::path(FIB_TEST_DATA) / "../../recipes" / (name + ".toml");
}

Recipe recipe_named(const std::string& name) {
  Recipe recipe;
  read_toml_file(recipe, recipe_file(name));
  return recipe;
}

TEST(Recipes, are_all_accepted) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FIB_TEST_DATA "/../../recipes")) {
    if (entry.is_directory()) continue;
    const Recipe recipe = recipe_named(entry.path().stem());
    EXPECT_NO_THROW(check_recipe(recipe)) << entry.path();
    ++count;
    if (recipe.run.task != Recipe().run.task) continue;  // its models are in the room of the task
    models::Options options;
    options.attention = AttentionSpec::parse(recipe.model.attention);
    EXPECT_NO_THROW(models::dimensions(recipe.model.name, options)) << entry.path();
  }
  EXPECT_GE(count, 8);
}

TEST(Recipes, of_deit_are_the_papers_table) {
  for (const char* name : {"deit-cifar10", "deit-cifar100", "deit-tiny-imagenet", "deit-imagenet"}) {
    Recipe recipe = recipe_named(name);
    EXPECT_EQ(recipe.data.source, std::string(name).substr(5));
    recipe.data.source = "cifar10";
    EXPECT_EQ(recipe, recipe_named("deit-cifar10")) << name << " differs in more than the data";
  }
  const Recipe deit = recipe_named("deit-cifar10");
  EXPECT_EQ(deit.optimizer.batch, 64);
  EXPECT_EQ(deit.optimizer.eps, 1e-6);
  EXPECT_EQ(deit.ema.decay, 0.99992);
  EXPECT_EQ(deit.augment.rand_augment, "rand-m15-n2-mstd1.0-inc1");
}

TEST(Recipes, of_deit_say_what_the_papers_table_leaves_open) {
  for (const char* name : {"deit-cifar10", "deit-cifar100", "deit-tiny-imagenet", "deit-imagenet"}) {
    const Recipe recipe = recipe_named(name);
    EXPECT_EQ(recipe.augment.random_erasing, 0) << name;
    EXPECT_EQ(recipe.augment.repeated_augmentation, 1) << name;
    EXPECT_EQ(recipe.model.drop_path, 0) << name;
    EXPECT_EQ(recipe.augment.mixup_prob, 0.5) << name;
    EXPECT_EQ(recipe.augment.mixup_switch_prob, 0.5) << name;
    const std::string text = fib::test::read_file(recipe_file(name));
    for (const char* said : {"Drop path, random erasing and repeated augmentation", "they are off",
                             "half of the batches are mixed, half of those by cutmix"})
      EXPECT_TRUE(fib::test::mentions(text, said)) << name << " does not say: " << said;
  }
}

// ---- Recipes as the backbones' authors train them, against their settings as typed here from their papers and code

/// The value of an option by its key, as TOML writes it.
using Lines = std::map<std::string, std::string>;

/// DeiT: augmentation of timm, AdamW, a cosine over 300 epochs.
const Lines kDeit = {{"drop_path", "0.1"},
                     {"crop", "\"resized\""},
                     {"crop_scale", "[0.08, 1.0]"},
                     {"crop_ratio", "[0.75, 1.3333333333333333]"},
                     {"flip", "0.5"},
                     {"color_jitter", "0.4"},
                     {"rand_augment", "\"rand-m9-n2-mstd0.5-inc1\""},
                     {"random_erasing", "0.25"},
                     {"repeated_augmentation", "3"},
                     {"mixup", "0.8"},
                     {"cutmix", "1.0"},
                     {"mixup_prob", "1.0"},
                     {"mixup_switch_prob", "0.5"},
                     {"eval_crop", "0.875"},
                     {"eval_crops", "1"},
                     {"optimizer", "\"adamw\""},
                     {"batch", "1024"},
                     {"accumulate", "1"},
                     {"lr", "0.0005"},
                     {"lr_batch", "512"},
                     {"weight_decay", "0.05"},
                     {"weight_decay_on", "\"weights\""},
                     {"beta1", "0.9"},
                     {"beta2", "0.999"},
                     {"eps", "1e-08"},
                     {"grad_clip", "0.0"},
                     {"layer_decay", "1.0"},
                     {"label_smoothing", "0.1"},
                     {"class_weights", "\"none\""},
                     {"early_stop", "0"},
                     {"epochs", "300"},
                     {"schedule", "\"epoch\""},
                     {"warmup_epochs", "5.0"},
                     {"warmup_lr", "1e-06"},
                     {"min_lr", "1e-05"},
                     {"ema", "0.99996"},
                     {"ema_rule", "\"constant\""}};

/// What differs from DeiT.
const std::map<std::string, Lines> kAuthors = {
    {"deit-small-imagenet", {}},
    {"convit-imagenet", {{"ema", "0.0"}}},
    {"swin-imagenet",
     {{"drop_path", "0.5"},
      {"repeated_augmentation", "1"},
      {"grad_clip", "5.0"},
      {"epochs", "100"},
      {"warmup_epochs", "20.0"},
      {"warmup_lr", "5e-07"},
      {"min_lr", "5e-06"},
      {"ema", "0.0"}}},
    {"iformer-imagenet",
     {{"drop_path", "0.0"},
      {"repeated_augmentation", "1"},
      {"batch", "4096"},
      {"lr", "0.004"},
      {"lr_batch", "4096"},
      {"warmup_epochs", "20.0"},
      {"min_lr", "1e-06"},
      {"ema", "0.0"}}},
    {"cvt-imagenet",  // the published cvt-13-224x224.yaml
     {{"rand_augment", "\"rand-m9-mstd0.5-inc1\""},
      {"repeated_augmentation", "1"},
      {"batch", "256"},
      {"lr", "0.00025"},
      {"lr_batch", "256"},
      {"ema", "0.0"}}},
    {"mvitv2-imagenet",  // the published MVITv2_S.yaml
     {{"rand_augment", "\"rand-m9-n6-mstd0.5-inc1\""},
      {"repeated_augmentation", "1"},
      {"batch", "256"},
      {"lr", "0.00025"},
      {"lr_batch", "256"},
      {"grad_clip", "1.0"},
      {"schedule", "\"step\""},
      {"warmup_epochs", "70.0"},
      {"warmup_lr", "1e-08"},
      {"min_lr", "1e-06"},
      {"ema", "0.0"}}},
    {"upop-deit-imagenet",
     {{"drop_path", "0.0"},
      {"batch", "4096"},
      {"lr", "0.0001"},
      {"schedule", "\"step\""},
      {"epochs", "60"},
      {"warmup_epochs", "0.0"},
      {"min_lr", "0.0008"},
      {"ema", "0.0"}}},
    {"upop-deit-imagenet-retrain", {{"batch", "4096"}, {"lr", "0.0001"}, {"warmup_epochs", "0.0"}}},
};

/// Options that change nothing in these recipes: of other crops, other optimizers, other schedules.
const std::set<std::string> kUnused = {"crop_padding", "crop_sides", "momentum", "milestones", "gamma", "ema_power"};

TEST(Recipes, of_other_backbones_are_their_authors_settings_line_by_line) {
  for (const auto& [name, differences] : kAuthors) {
    const Recipe recipe = recipe_named(name);
    Lines expected = differences;
    expected.insert(kDeit.begin(), kDeit.end());
    if (recipe.ema.decay == 0) expected.erase("ema_rule");
    if (recipe.schedule.warmup_epochs == 0) expected.erase("warmup_lr");
    for (const Option& option : options()) {
      const bool trains = option.section == "augment" || option.section == "optimizer" ||
                          option.section == "schedule" || option.section == "ema" || option.key == "drop_path";
      if (!trains || kUnused.count(option.key) > 0) continue;
      if (expected.count(option.key) == 0) {
        EXPECT_TRUE(option.key == "ema_rule" || option.key == "warmup_lr") << option.key << " is not in the table";
        continue;
      }
      Recipe theirs;
      read_toml(theirs, "[" + option.section + "]\n" + option.key + " = " + expected.at(option.key) + "\n", name);
      EXPECT_EQ(to_toml(option.get(recipe)), to_toml(option.get(theirs))) << name << ": " << option.key;
    }
  }
}

TEST(Recipes, of_the_demo_have_the_papers_tokens) {
  for (const char* name : {"demo", "fashion-mnist", "cifar10-small"}) {
    const models::Dimensions dims = models::dimensions(recipe_named(name).model.name);
    EXPECT_EQ(dims.grid(), (attention::Grid{14, 14})) << name;
    EXPECT_EQ(dims.row.heads, 12) << name;
  }
}

}  // namespace
}  // namespace fib::training
