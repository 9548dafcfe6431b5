// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "attention/registry.h"
#include "models/table.h"
#include "training/recipe/options.h"
#include "training/recipe/toml.h"

namespace fib::training {
namespace {

Recipe recipe_named(const std::string& name) {
  Recipe recipe;
  read_toml_file(recipe, std::filesystem::path(FIB_TEST_DATA) / "../../recipes" / (name + ".toml"));
  return recipe;
}

TEST(Recipes, are_all_accepted) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FIB_TEST_DATA "/../../recipes")) {
    if (entry.is_directory()) continue;
    const Recipe recipe = recipe_named(entry.path().stem());
    EXPECT_NO_THROW(check_recipe(recipe)) << entry.path();
    ++count;
    if (recipe.task != Recipe().task) continue;  // its models are in the room of the task
    models::Options options;
    options.attention = AttentionSpec::parse(recipe.attention);
    EXPECT_NO_THROW(models::dimensions(recipe.model, options)) << entry.path();
  }
  EXPECT_GE(count, 8);
}

TEST(Recipes, of_deit_are_the_papers_table) {
  for (const char* name : {"deit-cifar10", "deit-cifar100", "deit-tiny-imagenet", "deit-imagenet"}) {
    Recipe recipe = recipe_named(name);
    EXPECT_EQ(recipe.data, std::string(name).substr(5));
    recipe.data = "cifar10";
    EXPECT_EQ(recipe, recipe_named("deit-cifar10")) << name << " differs in more than the data";
  }
  const Recipe deit = recipe_named("deit-cifar10");
  EXPECT_EQ(deit.batch, 64);
  EXPECT_EQ(deit.eps, 1e-6);
  EXPECT_EQ(deit.ema, 0.99992);
  EXPECT_EQ(deit.rand_augment, "rand-m15-n2-mstd1.0-inc1");
}

TEST(Recipes, of_the_demo_have_the_papers_tokens) {
  for (const char* name : {"demo", "fashion-mnist", "cifar10-small"}) {
    const models::Dimensions dims = models::dimensions(recipe_named(name).model);
    EXPECT_EQ(dims.grid(), (attention::Grid{14, 14})) << name;
    EXPECT_EQ(dims.row.heads, 12) << name;
  }
}

}  // namespace
}  // namespace fib::training
