// SPDX-License-Identifier: Apache-2.0
// What `fib reproduce` shows of runs, settings and the list of all entries.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "files.h"
#include "report/ablation_report.h"

namespace fib::report {
namespace {

using ablations::Ablation;
using ablations::Scale;
using test::mentions;
using Texts = std::vector<std::string>;

const std::filesystem::path kRecipeFolder = FIB_TEST_DATA "/../../recipes";

Ablation entry(const std::string& name) {
  return ablations::read_ablation(kRecipeFolder / "ablations" / (name + ".toml"));
}

ablations::Request at(Scale scale) { return {scale, 1, {}, kRecipeFolder, "out"}; }

/// The cells of the line that begins with `label`; cells stand two spaces or more apart.
Texts cells_of(const std::string& text, const std::string& label) {
  static const std::regex kGap(" {2,}");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Texts cells(std::sregex_token_iterator(line.begin(), line.end(), kGap, -1), {});
    if (!cells.empty() && cells.front() == label) return cells;
  }
  return {};
}

TEST(Reproduced, has_the_mean_of_the_pruned_shares_the_one_by_cost_and_the_papers) {
  const Ablation table = entry("table-backbones");
  const auto runs = plan(table, at(Scale::paper));
  const std::string text = reproduced_text(table, runs, Scale::paper);
  const Texts header = cells_of(text, "row"), iformer = cells_of(text, "iFormer + Fibottention");
  ASSERT_GE(iformer.size(), 5U) << text;
  EXPECT_EQ(Texts(header.begin() + 2, header.begin() + 6), (Texts{"pairs", "pruned, mean", "by cost", "the paper's"}));
  EXPECT_EQ(Texts(iformer.begin() + 3, iformer.begin() + 6), (Texts{"84.77 %", "90.45 %", "94.40 %"}));
  EXPECT_EQ(iformer[2], "10,952") << "three blocks of 196 tokens with 3,244 each, two of 49 with 610";
  const auto row = reproduced_json(table, runs, Scale::paper)["rows"][5];
  EXPECT_EQ(row["label"], "iFormer + Fibottention");
  EXPECT_EQ(row["pairs"], 10952);
  EXPECT_TRUE(row["pairs_wanted"].is_null());
  EXPECT_NEAR(row["pruning_ratio"].get<double>(), 0.8477, 5e-5);
  EXPECT_NEAR(row["pruning_ratio_by_cost"].get<double>(), 0.9045, 5e-5);
  EXPECT_NEAR(row["paper_pruning_ratio"].get<double>(), 0.944, 1e-9);
}

TEST(Reproduced, has_rows_at_one_budget_where_pairs_are_matched) {
  const Ablation table = entry("table-sota");
  ablations::Request request = at(Scale::small);
  request.match_pairs = AttentionSpec::parse("fibottention");
  const auto runs = plan(table, request);
  const auto rows = reproduced_json(table, runs, Scale::small)["rows"];
  const int64_t wanted = rows.back()["pairs"];
  EXPECT_EQ(rows.back()["attention"], "fibottention");
  for (const auto& row : rows) {
    if (row["attention"] == "full" || row["attention"] == "fibottention") {
      EXPECT_TRUE(row["pairs_wanted"].is_null()) << row;
      continue;
    }
    EXPECT_EQ(row["pairs_wanted"], wanted) << row;
    EXPECT_NEAR(row["pairs"].get<double>() / static_cast<double>(wanted), 1, 0.25) << row;
  }
  EXPECT_TRUE(mentions(reproduced_text(table, runs, Scale::small), "Matched as nearly as can be to "));
}

TEST(Reproduced, has_no_column_for_ratios_that_the_paper_does_not_print) {
  const Ablation table = entry("table-sequences");
  const auto runs = plan(table, at(Scale::tiny));
  EXPECT_FALSE(mentions(reproduced_text(table, runs, Scale::tiny), "the paper's"));
  EXPECT_TRUE(reproduced_json(table, runs, Scale::tiny)["rows"][0]["paper_pruning_ratio"].is_null());
}

TEST(Reproduced, shows_the_papers_numbers_with_all_their_digits) {
  const Ablation table = entry("table-bigbird");
  const std::string text = reproduced_text(table, plan(table, at(Scale::tiny)), Scale::tiny);
  EXPECT_EQ(cells_of(text, "w = 4, g = 1, r = N").back(), "86.33");
  const Ablation windows = entry("table-windows");
  EXPECT_EQ(cells_of(reproduced_text(windows, plan(windows, at(Scale::tiny)), Scale::tiny), "w = 15").back(), "64.8");
}

TEST(Reproduced, says_where_it_is_not_what_the_paper_did) {
  const auto said = [](const std::string& name, const std::string& sentence) {
    const Ablation table = entry(name);
    const auto runs = plan(table, at(Scale::paper));
    return mentions(reproduced_text(table, runs, Scale::paper), sentence) &&
           mentions(reproduced_json(table, runs, Scale::paper)["note"].get<std::string>(), sentence);
  };
  EXPECT_TRUE(said("table-robots", "the published code keeps the one with the best test score"));
  EXPECT_TRUE(said("table-backbones", "a \"vision-language backbone\" that it does not name"));
  EXPECT_TRUE(said("table-pruning", "DeiT-S is pruned"));
  EXPECT_TRUE(said("table-video", "93.73 and 95.52 %"));
  EXPECT_TRUE(said("figure-dilation", "72.8 % fixed and 85.5 % varying"));
}

TEST(Settings, stand_beside_the_options_of_the_recipes) {
  const Ablation table = entry("table-settings");
  const auto recipes = recipes_of(table, at(Scale::paper));
  ASSERT_EQ(recipes.size(), 3U);
  const std::string text = settings_text(table, recipes);
  EXPECT_EQ(cells_of(text, "EMA Decay"), (Texts{"EMA Decay", "0.99992", "ema = 0.99992"}));
  EXPECT_EQ(cells_of(text, "Decay Rate")[2], "–");
  EXPECT_TRUE(mentions(text, "repeated augmentation are not in the table: they are off"));
  const auto json = settings_json(table, recipes);
  EXPECT_EQ(json["rows"][9]["paper"], 1e-3);
  EXPECT_EQ(json["rows"][9]["options"]["lr"]["tiny-in"], 1e-3);
}

TEST(List, says_of_each_entry_what_it_trains) {
  const auto all = ablations::read_ablations(kRecipeFolder / "ablations");
  const std::string text = list_text(all, at(Scale::tiny));
  for (const char* line : {"tiny: table-video: timesformer_tiny_patch16_224, 4 epochs of fight clips.",
                           "paper: table-bigbird, table-diversity: vit_base_patch16_224, 100 epochs of CIFAR-10.",
                           "paper: table-robots: arm_vit_b8, pusht_vit_b8, 501 epochs of Can, Lift, PushT.",
                           "paper: inductive-bias: vit_base_patch16_224, 100 epochs of Tiny-ImageNet.",
                           "paper: the others: vit_base_patch16_224, 100 epochs of CIFAR-10, CIFAR-100."})
    EXPECT_TRUE(mentions(text, line));
  const auto json = list_json(all, at(Scale::tiny));
  const auto video = std::ranges::find_if(json, [](const auto& listed) { return listed["name"] == "table-video"; });
  EXPECT_EQ((*video)["paper"]["models"], (Texts{"timesformer_base_patch16_224"}));
  EXPECT_EQ((*video)["paper"]["epochs"], 15);
}

}  // namespace
}  // namespace fib::report
