// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "files.h"
#include "training/recipe/options.h"

namespace fib::training {
namespace {

using fib::test::error_of;
using fib::test::mentions;

std::string toml_error(const std::string& text) {
  Recipe recipe;
  return error_of([&] { read_toml(recipe, text, "x.toml"); });
}

TEST(Options, have_keys_that_are_unique_and_defaults_that_they_accept) {
  std::set<std::string> keys;
  Recipe recipe;
  for (const Option& option : options()) {
    EXPECT_TRUE(keys.insert(option.key).second) << option.key;
    EXPECT_FALSE(option.help.empty()) << option.key;
    EXPECT_NO_THROW(option.set(recipe, option.get(recipe))) << option.key;
  }
  EXPECT_EQ(recipe, Recipe());
  EXPECT_NO_THROW(check_recipe(recipe));
}

TEST(Options, stand_together_by_section) {
  std::set<std::string> seen;
  std::string section;
  for (const Option& option : options()) {
    if (option.section == section) continue;
    section = option.section;
    EXPECT_TRUE(seen.insert(section).second) << section << " is divided";
  }
}

/// Every field differs from its default, with values that are hard to print.
Recipe unusual() {
  Recipe recipe;
  for (const Option& option : options()) {
    if (!option.choices.empty()) option.set(recipe, option.choices.back());
    if (const auto* number = std::get_if<Field<double>>(&option.field)) number->write(recipe) = 1.0 / 3.0;
    if (const auto* integer = std::get_if<Field<int64_t>>(&option.field)) integer->write(recipe) += 7;
    if (const auto* on = std::get_if<Field<bool>>(&option.field)) on->write(recipe) = !on->read(recipe);
    if (const auto* span = std::get_if<Field<Span>>(&option.field)) span->write(recipe) = {1.0 / 7.0, 0.1 + 0.2};
  }
  recipe.augment.crop_sides = {1 + 1.0 / 7.0, 300.1};  // what has narrower bounds
  recipe.augment.eval_crops = 3;
  recipe.model.weights = "a \"quoted\" \\path\\ with ü";
  recipe.optimizer.eps = std::numeric_limits<double>::denorm_min();
  recipe.optimizer.grad_clip = 1e300;
  return recipe;
}

TEST(Recipe, survives_toml_to_the_bit) {
  Recipe read;
  read_toml(read, write_toml(unusual()), "config.toml");
  EXPECT_EQ(read, unusual());
  EXPECT_EQ(write_toml(read), write_toml(unusual()));
}

TEST(Recipe, takes_from_toml_only_what_it_says) {
  Recipe recipe;
  read_toml(recipe, "[optimizer]\nlr = 1\n[augment]\ncrop_scale = [0.5, 1]\n", "x.toml");
  EXPECT_EQ(recipe.optimizer.lr, 1.0) << "an integer serves as a number";
  EXPECT_EQ(recipe.augment.crop_scale, (Span{0.5, 1}));
  EXPECT_EQ(recipe.optimizer.batch, Recipe().optimizer.batch);
}

TEST(Recipe, refuses_unknown_keys_with_the_nearest) {
  const std::string error = toml_error("[optimizer]\n\nweight_dekay = 0.1\n");
  EXPECT_TRUE(mentions(error, "x.toml:3")) << error;
  EXPECT_TRUE(mentions(error, "'weight_decay'")) << error;
  EXPECT_TRUE(mentions(toml_error("[optimiser]\nlr = 1.0\n"), "'optimizer'"));
  EXPECT_TRUE(mentions(toml_error("[data]\nlr = 1.0\n"), "[optimizer]"));
  EXPECT_TRUE(mentions(toml_error("lr = 1.0\n"), "belongs below [optimizer]"));
}

TEST(Recipe, refuses_former_names_with_the_new_one) {
  EXPECT_EQ(toml_error("[optimizer]\nclip = 1.0\n"), "x.toml:2: option 'clip' is called 'grad_clip' now");
  EXPECT_EQ(renamed_flag("--mix-switch"), "--mixup-switch-prob");
  EXPECT_EQ(renamed_flag("--lr"), std::nullopt);
  for (const RenamedOption& renamed : renamed_options()) EXPECT_NO_THROW(find_option(renamed.now)) << renamed.before;
}

TEST(Recipe, of_a_run_of_an_earlier_version_is_read_with_its_former_names) {
  Recipe recipe;
  read_toml(recipe, "[optimizer]\nclip = 0.25\nsmoothing = 0.2\ndecay_on = \"all\"\n[adapt]\nadapt_fade = 0.75\n",
            "config.toml", OptionNames::current_or_former);
  EXPECT_EQ(recipe.optimizer.grad_clip, 0.25);
  EXPECT_EQ(recipe.optimizer.label_smoothing, 0.2);
  EXPECT_EQ(recipe.optimizer.weight_decay_on, "all");
  EXPECT_EQ(recipe.adapt.fade_fraction, 0.75);
}

TEST(Recipe, is_refused_in_one_line_whatever_it_holds) {
  for (const char* text :
       {"[data]\nworkers = t\n", "[data]\nworkers = \x01\n", "[model]\nmodel = \"a\n", "[\"a\\n\"]\nb = 1\n"}) {
    const std::string error = toml_error(text);
    EXPECT_NE(error, "") << text;
    for (const unsigned char c : error) EXPECT_GE(c, 0x20) << error;
  }
}

TEST(Recipe, is_refused_where_its_keys_would_exhaust_the_stack) {
  std::string keys = "[a";
  for (int i = 0; i < 150000; ++i) keys += ".a";
  EXPECT_TRUE(mentions(toml_error(keys + "]\n"), "more than 4096 dots"));
}

TEST(Recipe, refuses_values_that_do_not_fit) {
  EXPECT_TRUE(mentions(toml_error("[optimizer]\nlr = -1.0\n"), "a number above 0"));
  EXPECT_TRUE(mentions(toml_error("[optimizer]\nlr = \"1e-3\"\n"), "received \"1e-3\""));
  EXPECT_TRUE(mentions(toml_error("[optimizer]\nlr = nan\n"), "a number above 0"));
  EXPECT_TRUE(mentions(toml_error("[optimizer]\nbatch = 6.5\n"), "an integer from 1"));
  EXPECT_TRUE(mentions(toml_error("[schedule]\nschedule = \"month\"\n"), "epoch, step"));
  EXPECT_TRUE(mentions(toml_error("[augment]\ncrop_scale = [1.0, 0.5]\n"), "the smaller first"));
  EXPECT_TRUE(mentions(toml_error("[optimizer\n"), "x.toml:1"));
  EXPECT_TRUE(mentions(toml_error("[run]\nseed = 2026-01-01\n"), "an integer from 0"));
}

/// Cut to 32 bits, as where it is used, 2^32 + 1 would be 1: another run than the recipe says.
TEST(Options, that_count_something_have_an_end) {
  Recipe recipe;
  for (const Option& option : options()) {
    if (!option.holds<int64_t>()) continue;
    if (option.key == "seed" || option.key == "split_seed") continue;  // all of their bits are used
    const std::string error = error_of([&] { option.set(recipe, int64_t{4294967297}); });
    EXPECT_TRUE(mentions(error, option.key + ": received 4294967297, accepted an integer from ")) << option.key;
  }
  EXPECT_EQ(recipe, Recipe());
  EXPECT_TRUE(mentions(find_option("epochs").accepted(), "from 1 to 1000000"));
  EXPECT_TRUE(mentions(toml_error("[augment]\ncrop_sides = [1.0, 1e300]\n"), "two numbers from 1 to 16384"));
}

TEST(Recipe, parses_what_people_type) {
  Recipe recipe;
  find_option("crop_ratio").parse(recipe, "0.75,1.5");
  EXPECT_EQ(recipe.augment.crop_ratio, (Span{0.75, 1.5}));
  find_option("skip_bad").parse(recipe, "true");
  EXPECT_TRUE(recipe.data.skip_bad);
  EXPECT_TRUE(mentions(error_of([&] { find_option("batch").parse(recipe, "64x"); }), "received '64x'"));
  EXPECT_TRUE(mentions(error_of([&] { find_option("data").parse(recipe, "a\nb"); }), "one line"));
  EXPECT_EQ(error_of([&] { find_option("data").parse(recipe, "folder:\xff"); }),
            "data: received 'folder:\\xff', accepted text in UTF-8");
  EXPECT_EQ(find_option("min_lr").flag(), "--min-lr");
}

TEST(Recipe, refuses_options_that_do_not_go_together) {
  Recipe recipe;
  recipe.optimizer.accumulate = 5;
  EXPECT_TRUE(mentions(error_of([&] { check_recipe(recipe); }), "accumulate"));
  recipe = {};
  recipe.schedule.name = "milestones";
  EXPECT_TRUE(mentions(error_of([&] { check_recipe(recipe); }), "milestones is empty"));
  recipe = {};
  recipe.schedule.min_lr = 1;
  EXPECT_TRUE(mentions(error_of([&] { check_recipe(recipe); }), "min_lr"));
}

TEST(Recipe, lists_numbers_in_both_spellings) {
  Recipe typed, read;
  find_option("milestones").parse(typed, "11,14");
  EXPECT_EQ(typed.schedule.milestones, (std::vector<double>{11, 14}));
  read_toml(read, "[schedule]\nmilestones = [11, 14.0]\n", "here");
  EXPECT_EQ(read, typed);
  Recipe again;
  read_toml(again, write_toml(read), "here");
  EXPECT_EQ(again, read);
  for (const char* bad : {"14,11", "11,", "x", "-1"})
    EXPECT_TRUE(mentions(error_of([&] { find_option("milestones").parse(typed, bad); }), "growing")) << bad;
}

TEST(Recipe, names_the_keys_in_which_two_differ) {
  Recipe a, b;
  b.model.attention = "full";
  b.optimizer.lr = 0.5;
  b.data.workers = 7;
  EXPECT_EQ(differing_keys(a, b), (std::vector<std::string>{"attention", "lr"}));
}

TEST(Recipe, reading_ends_on_a_file_that_does_not) {
  Recipe recipe;
  EXPECT_TRUE(mentions(error_of([&] { read_toml_file(recipe, "/dev/zero"); }), "'/dev/zero': it is longer than"));
}

}  // namespace
}  // namespace fib::training
