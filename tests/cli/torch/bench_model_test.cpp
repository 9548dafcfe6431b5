// SPDX-License-Identifier: Apache-2.0
#include "mini_vit.h"

namespace fib::test {
namespace {

using nlohmann::json;

TEST(BenchModel, times_full_beside_the_attentions_asked_for) {
  const Outcome outcome = run_fib(
      "bench model --json --model mini_vit --resolution 64,96 --pass forward,training --batch 2 --seconds 0.05 "
      "--attention fibottention --attention linformer");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json rows = json::parse(outcome.out)["rows"];
  ASSERT_EQ(rows.size(), 2u * 2u * 3u);
  for (const json& row : rows) {
    EXPECT_EQ(row["model"], "mini_vit");
    EXPECT_EQ(row["batch"], 2);
    EXPECT_GT(row["ms"], 0.0);
    EXPECT_GE(row["ms_median"], row["ms"]);
    EXPECT_NEAR(row["images_per_second"], 2e3 / row["ms"].get<double>(), 1e-6);
    EXPECT_GE(row["peak_memory_mb"], 0.0);
    EXPECT_EQ(row["engine"], "torch");
    EXPECT_EQ(row["precision"], "f32");
    if (row["attention"] == "full") {
      EXPECT_EQ(row["speedup_over_full"], 1.0);
    }
  }
  EXPECT_EQ(rows[0]["pass"], "forward");
  EXPECT_EQ(rows[0]["attention"], "full");
  EXPECT_EQ(rows[11]["pass"], "training step");
  EXPECT_EQ(rows[11]["resolution"], 96);
  EXPECT_EQ(rows[11]["attention"], "linformer");
}

TEST(BenchModel, says_what_does_not_fit_in_memory) {
  const Outcome outcome =
      run_fib("bench model --json --model vit_large_patch16_224 --pass training --resolution 4096 --batch 1024");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const json& row : json::parse(outcome.out)["rows"]) {
    EXPECT_TRUE(row["ms"].is_null());
    EXPECT_NE(row["reason"].get<std::string>().find("GB"), std::string::npos);
  }
}

TEST(BenchModel, refuses_what_it_does_not_know) {
  expect_refusal(run_fib("bench model --model mini_vitt"), 2, {"did you mean 'mini_vit'"});
  expect_refusal(run_fib("bench model --pass backward"), 2, {"backward", "training"});
  expect_refusal(run_fib("bench model --attention local:w=-1 --model mini_vit"), 2, {"w"});
  expect_refusal(run_fib("bench modle"), 2, {"modle"});
}

}  // namespace
}  // namespace fib::test
