// SPDX-License-Identifier: Apache-2.0
// Entries of `fib reproduce` that train nothing, and what a plan says.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_fib.h"
#include "files.h"

namespace fib::test {
namespace {

TEST(FibReproduce, shows_the_whole_wythoff_table) {
  const TemporaryDirectory out;
  const Outcome shown = run_fib("reproduce table-wythoff --json --out " + out.path().string());
  ASSERT_EQ(shown.code, 0) << shown.err;
  const nlohmann::json array = nlohmann::json::parse(shown.out)["array"];
  EXPECT_EQ(array[4], nlohmann::json({4, 8, 12, 20, 32, 52, 84}))
      << "a and b of the modified array, then the default one";
}

TEST(FibReproduce, shows_the_papers_settings_beside_the_recipes) {
  const TemporaryDirectory out;
  const Outcome shown = run_fib("reproduce table-settings --out " + out.path().string());
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(mentions(shown.out, "rand-m15-n2-mstd1.0-inc1  rand_augment = \"rand-m15-n2-mstd1.0-inc1\""));
  EXPECT_EQ(read_file(out / "table-settings.tiny.txt"), shown.out.substr(0, shown.out.find("\nWritten to")));
}

TEST(FibReproduce, names_weights_that_are_missing_before_a_plan_is_carried_out) {
  for (const char* plan : {"commands", "slurm"}) {
    const Outcome planned = run_fib("reproduce table-video --scale paper --plan " + std::string(plan));
    EXPECT_EQ(planned.code, 0);
    EXPECT_TRUE(mentions(planned.out, "# The runs begin from weights that are missing here: vit_base_patch16_224"));
    EXPECT_TRUE(mentions(planned.err, "weights that are missing here: 'vit_base_patch16_224.safetensors'"));
  }
  EXPECT_EQ(run_fib("reproduce table-sota --scale paper --plan slurm").err, "");
}

TEST(FibReproduce, matches_the_pairs_of_rows_that_leave_them_open_and_prints_both_counts) {
  const Outcome planned = run_fib("reproduce table-sota --scale small --match-pairs fibottention --plan");
  ASSERT_EQ(planned.code, 0) << planned.err;
  for (const char* option : {"--attention=longformer:w=1", "--attention=full", "--attention=fibottention ",
                             "--attention=bigbird:random=", "--attention=topk:k="})
    EXPECT_TRUE(mentions(planned.out, option)) << option << planned.out;
  EXPECT_TRUE(mentions(planned.err, ": longformer:w=1 has ")) << planned.err;
  EXPECT_TRUE(mentions(planned.err, " pairs, fibottention ")) << planned.err;
  EXPECT_EQ(run_fib("reproduce table-windows --match-pairs fibottention --plan").err,
            "fib: --match-pairs: no row of table-windows leaves its number of pairs open\n");
}

}  // namespace
}  // namespace fib::test
