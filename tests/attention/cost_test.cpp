// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "attention/registry.h"

namespace fib::attention {
namespace {

Cost cost_of(const std::string& spec) { return cost(AttentionSpec::parse(spec), Geometry{}); }

double gmacs_of_vit_base(const std::string& spec) {
  const Cost c = cost_of(spec);
  return 12 * (c.score_macs + c.value_macs) / 1e9;
}

TEST(AttentionCost, is_what_the_paper_prints_for_vit_base) {
  EXPECT_NEAR(gmacs_of_vit_base("full"), 0.72, 0.005);
  EXPECT_NEAR(gmacs_of_vit_base("fibottention:wmin=5,wmax=65"), 0.014, 0.0005);
}

TEST(AttentionCost, has_the_pruning_ratios_of_the_papers_table) {
  const std::pair<const char*, double> printed[] = {{"full", 0},
                                                    {"random", 98.52},
                                                    {"topk", 98.48},
                                                    {"sparse-transformer", 98.47},
                                                    {"bigbird", 97.96},
                                                    {"longformer", 98.47},
                                                    {"linformer", 97.96},
                                                    {"efficient", 97.98},
                                                    {"fibottention", 98.01}};
  for (const auto& [name, percent] : printed) {
    EXPECT_NEAR(100 * cost_of(name).pruning_ratio, percent, 0.006) << name;
  }
}

TEST(AttentionCost, counts_the_class_token_in_what_is_executed) {
  const Cost c = cost_of("fibottention");
  EXPECT_EQ(c.pairs, 9192 + 12 * (2 * 196 + 1));
  EXPECT_DOUBLE_EQ(c.executed_macs, static_cast<double>(c.pairs) * 128);
  EXPECT_NEAR(c.pruning_ratio_with_cls, 0.97014, 1e-5);
}

TEST(AttentionCost, counts_neighbors_and_summaries_and_the_additions_of_the_means) {
  const Cost own = cost_of("fibottention"), with = cost_of("fibottention:summaries=4x4");
  EXPECT_EQ(with.pairs, own.pairs + 12 * 196 * 16);
  EXPECT_DOUBLE_EQ(with.executed_macs, static_cast<double>(with.pairs) * 128 + 12 * 196 * 128);
  EXPECT_NEAR(with.pruning_ratio, own.pruning_ratio - 16.0 / 196, 1e-12);
  EXPECT_EQ(cost_of("random:ratio=1,grid=3").pairs, 12 * (40 * 40 + 2 * 196 + 1));
}

TEST(AttentionCost, of_topk_includes_all_scores) {
  EXPECT_DOUBLE_EQ(cost_of("topk").score_macs, cost_of("full").score_macs);
  EXPECT_LT(cost_of("topk").value_macs, 0.02 * cost_of("full").value_macs);
}

TEST(AttentionCost, counts_the_projections_of_linformer_as_parameters) {
  EXPECT_EQ(cost_of("linformer").parameters, 2 * 4 * 197);
  EXPECT_EQ(cost_of("linformer:k=7").parameters, 2 * 7 * 197);
  EXPECT_EQ(cost_of("fibottention").parameters, 0);
}

TEST(AttentionCost, grows_linearly_for_linear_mechanisms) {
  Geometry large;
  large.query_grid = large.key_grid = {28, 28};
  for (const char* name : {"linformer", "efficient"}) {
    const AttentionSpec spec = AttentionSpec::parse(name);
    EXPECT_NEAR(cost(spec, large).executed_macs / cost(spec, Geometry{}).executed_macs, 785.0 / 197.0, 1e-9) << name;
  }
}

}  // namespace
}  // namespace fib::attention
