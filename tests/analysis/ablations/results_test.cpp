// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analysis/ablations/plan.h"

namespace fib::ablations {
namespace {

TEST(Results, compare_rows_seed_by_seed) {
  const auto run = [](size_t row, int64_t seed, std::optional<double> top1) {
    ablations::Run result;
    result.row = row;
    result.data = "c10";
    result.recipe.run.seed = seed;
    result.top1 = top1;
    return result;
  };
  const std::vector<ablations::Run> runs = {run(0, 0, 80), run(0, 1, 84), run(0, 2, std::nullopt),
                                            run(1, 0, 81), run(1, 1, 87), run(1, 2, 90),
                                            run(2, 0, 70)};
  EXPECT_EQ(measured(runs, 0, "c10").count, 2);
  EXPECT_DOUBLE_EQ(measured(runs, 1, "c10").mean, 86);
  EXPECT_EQ(measured(runs, 0, "c100").count, 0);
  const auto test = compared(runs, 1, 0, "c10");
  ASSERT_TRUE(test.has_value());
  EXPECT_EQ(test->pairs, 2) << "the third seed of the baseline has not finished";
  EXPECT_DOUBLE_EQ(test->difference, 2);
  EXPECT_FALSE(compared(runs, 2, 0, "c10").has_value()) << "one seed says nothing";
}

TEST(Results, compare_with_full_attention_where_the_table_has_it) {
  EXPECT_EQ(baseline_row(read_ablation(FIB_TEST_DATA "/../../recipes/ablations/table-windows.toml"), 0), 15U);
  EXPECT_EQ(baseline_row(read_ablation(FIB_TEST_DATA "/../../recipes/ablations/table-sequences.toml"), 3), 0U);
}

}  // namespace
}  // namespace fib::ablations
