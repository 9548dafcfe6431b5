// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/run_fib.h"

namespace {

using nlohmann::json;

json output_of(const std::string& arguments) {
  const Outcome o = run_fib(arguments + " --json");
  EXPECT_EQ(o.code, 0) << o.err;
  return json::parse(o.out);
}

double attention_gmacs(const json& row) {
  return row["gmacs"]["scores"].get<double>() + row["gmacs"]["values"].get<double>();
}

void expect_refusal(const std::string& arguments, int code, const std::string& part) {
  const Outcome o = run_fib(arguments);
  EXPECT_EQ(o.code, code) << o.err;
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  EXPECT_NE(o.err.find(part), std::string::npos) << o.err;
}

}  // namespace

TEST(FibFlops, gives_the_papers_attention_cost_of_vit_b) {
  const json rows = output_of("flops --model vit_base_patch16_224")["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["attention"], "full");
  EXPECT_EQ(rows[0]["tokens"], 197);
  EXPECT_NEAR(attention_gmacs(rows[0]), 0.72, 0.005);
  EXPECT_EQ(rows[1]["attention"], "fibottention");
  EXPECT_NEAR(attention_gmacs(rows[1]), 0.014, 0.0005);
  EXPECT_NEAR(rows[1]["pruning_ratio"], 0.9801, 5e-5);
}

TEST(FibFlops, names_both_means_of_the_pruned_share) {
  const json row = output_of("flops --model iFormer_t --attention fibottention:wmax=65")["rows"][0];
  EXPECT_NEAR(row["pruning_ratio"], 0.8477, 5e-5);
  EXPECT_GT(row["pruning_ratio_by_cost"], 0.90);
  const std::string text = run_fib("flops --model iFormer_t --attention fibottention:wmax=65").out;
  EXPECT_NE(text.find("pruned, mean  by cost"), std::string::npos) << text;
}

TEST(FibFlops, lists_parts_that_sum_to_the_total) {
  const json output = output_of("flops --model vit_tiny_patch16_224 --resolution 224,384");
  for (const json& row : output["rows"]) {
    double sum = 0;
    for (const char* part : {"patch_embed", "qkv", "scores", "values", "projection", "mlp", "head"}) {
      sum += row["gmacs"][part].get<double>();
    }
    EXPECT_NEAR(sum, row["gmacs"]["total"], 1e-9);
  }
}

/// Of the total, at 1024 pixels: what full attention costs, which no sparse attention can save more than, and what
/// Fibottention saves.
std::pair<double, double> ceiling_and_saved(const std::string& model) {
  const json rows = output_of("flops --resolution 1024 --model " + model)["rows"];
  return {attention_gmacs(rows[0]) / rows[0]["gmacs"]["total"].get<double>(), rows[1]["saved_over_full"]};
}

TEST(FibFlops, saves_more_the_higher_the_resolution) {
  const json output = output_of("flops --attention fibottention --resolution 224,384,512,768,1024");
  double before = 0;
  for (const json& row : output["rows"]) {
    EXPECT_GT(row["saved_over_full"], before);
    before = row["saved_over_full"];
  }
}

/// The paper says "up to 48 %": above the ceiling of ViT-B, below that of its ViT-T.
TEST(FibFlops, saves_nearly_all_that_attention_costs_at_1024) {
  const auto [base, base_saved] = ceiling_and_saved("vit_base_patch16_224");
  EXPECT_NEAR(base, 0.469, 5e-4);
  EXPECT_NEAR(base_saved, 0.467, 5e-4);
  const auto [tiny, tiny_saved] = ceiling_and_saved("vit_tiny_patch16_224");
  EXPECT_NEAR(tiny, 0.776, 5e-4);
  EXPECT_NEAR(tiny_saved, 0.773, 5e-4);
}

TEST(FibFlops, gives_shorthands_to_the_attentions_that_have_them) {
  const json rows = output_of("flops --wmin 5 --wmax 65 --attention full --attention fibottention")["rows"];
  EXPECT_EQ(rows[0]["attention"], "full");
  EXPECT_EQ(rows[1]["attention"], "fibottention:wmin=5,wmax=65");
  expect_refusal("flops --attention full --wmax 65", 2, "--wmax 65");
  expect_refusal("flops --attention bigbird --modified", 2, "--modified");
}

TEST(FibFlops, draws_svg_and_png) {
  const std::map<std::string, std::string> beginnings = {{"cost.svg", "<svg"}, {"cost.png", "\x89PNG"}};
  for (const auto& [name, beginning] : beginnings) {
    const std::string path = scratch_path(name);
    const Outcome o = run_fib("flops --quiet --resolution 224,512 --plot " + path);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(read_file(path).substr(0, beginning.size()), beginning);
  }
}

TEST(FibFlops, refuses_what_it_does_not_know) {
  expect_refusal("flops --model vit_bsae_patch16_224", 2, "did you mean 'vit_base_patch16_224'");
  expect_refusal("flops --attention longformr", 2, "did you mean 'longformer'");
  expect_refusal("flops --attention longformer:k=3", 2, "k");
  expect_refusal("flops --resolution 8", 2, "8 x 8");
  expect_refusal("flops --resolution 224,many", 2, "many");
  expect_refusal("flops --plot cost.pdf", 2, "cost.pdf");
}

TEST(FibModels, lists_parameters_and_dimensions) {
  const json models = output_of("models");
  const auto base =
      std::find_if(models.begin(), models.end(), [](const json& m) { return m["name"] == "vit_base_patch16_224"; });
  ASSERT_NE(base, models.end());
  EXPECT_EQ((*base)["parameters"], 86567656);
  EXPECT_EQ((*base)["resolution"], 224);
  EXPECT_EQ((*base)["dim"], 768);
  EXPECT_EQ((*base)["depth"], 12);
  EXPECT_EQ((*base)["heads"], 12);
  EXPECT_NEAR((*base)["gmacs"], 17.56, 0.005);
}

TEST(FibModels, compile_all_of_them) {
  for (const json& model : output_of("models")) EXPECT_EQ(model["compiles"], true) << model["name"];
}

TEST(FibAttentions, lists_support_sets_and_the_others) {
  std::map<std::string, bool> is_support;
  for (const json& a : output_of("attentions")) is_support[a["name"]] = a["support_set"];
  for (const char* name :
       {"fibottention", "fibottention-modified", "random", "sparse-transformer", "bigbird", "longformer"}) {
    EXPECT_TRUE(is_support.at(name)) << name;
  }
  for (const char* name : {"full", "topk", "linformer", "efficient"}) EXPECT_FALSE(is_support.at(name)) << name;
}
