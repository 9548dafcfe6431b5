// SPDX-License-Identifier: Apache-2.0
// A model as one file, and the commands that run it with --engine.
#include <filesystem>
#include <map>

#include "mini_vit.h"

namespace fib::test {
namespace {

using nlohmann::json;

std::string fib_path() { return scratch_path("mini.fib"); }

Outcome compile(const std::string& options) {
  return run_fib(with_mini_vit("compile") + options + " -o " + fib_path());
}

/// Logits of the golden input, in the order of its samples.
std::vector<float> inferred(const std::vector<int64_t>& shape) {
  const std::string out = scratch_path("engine_logits.npy");
  const Outcome outcome = run_fib("infer --engine " + fib_path() + " --input " + golden_input(shape) + " --out " + out);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const NpyArray logits(out);
  return {logits.values<float>().begin(), logits.values<float>().end()};
}

TEST(Compile, gives_a_file_with_the_golden_logits) {
  const Outcome outcome = compile("--attention fibottention --resolution 64,96 --batch 2");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("mini_vit with fibottention, f32, "), std::string::npos) << outcome.out;
  const std::vector<float> logits = inferred({1, 3, 64, 64});
  const std::vector<double> want = mini_vit_golden("fib_wythoff_neginf_pyshuffle_seed_eq_layer")["first8"];
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(logits[i], want[i], 2e-5) << "logit " << i;
  EXPECT_EQ(inferred({1, 3, 96, 96}).size(), 10u);
}

TEST(Compile, gives_bench_model_rows_with_engine_and_precision) {
  ASSERT_EQ(compile("--precision bf16").code, 0);
  const Outcome outcome = run_fib("bench model --json --batch 2 --seconds 0.02 --engine " + fib_path());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json row = json::parse(outcome.out)["rows"][0];
  EXPECT_EQ(row["engine"], fib_path());
  EXPECT_EQ(row["precision"], "bf16");
  EXPECT_EQ(row["model"], "mini_vit");
  EXPECT_EQ(row["batch"], 2);
  EXPECT_GT(row["ms"], 0.0);
}

TEST(Compile, profile_says_what_each_step_takes_and_what_share_of_the_peak_it_reaches) {
  ASSERT_EQ(compile("--precision int8").code, 0);
  const std::string command = "bench model --profile --batch 1 --seconds 0.02 --engine " + fib_path();
  const Outcome outcome = run_fib(command + " --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json row = json::parse(outcome.out)["rows"][0];
  std::map<std::string, int> of_precision;
  double sum = 0;
  for (const json& step : row["steps"]) {
    ++of_precision[step["precision"]];
    sum += step["ms"].get<double>();
    EXPECT_EQ(step["gops"].is_null(), step["precision"] == "") << step;
    if (step["gops"].is_null()) continue;
    EXPECT_GT(step["gops"], 0.0);
    EXPECT_GT(step["peak_share"], 0.0);
  }
  EXPECT_GT(of_precision["int8"], 0);
  EXPECT_GT(of_precision["f32"], 0) << "attention and the classifier";
  EXPECT_GT(of_precision[""], 0) << "norms";
  EXPECT_GT(sum, 0.0);
  const std::string text = run_fib(command).out;
  EXPECT_NE(text.find("linear, layer norm"), std::string::npos) << text;
  EXPECT_NE(text.find("of the peak"), std::string::npos) << text;
}

TEST(Compile, refuses_in_one_line_what_it_cannot_do) {
  expect_refusal(run_fib(with_mini_vit("compile") + "-o mini.bin"), 2, {"--out", ".fib"});
  expect_refusal(run_fib("compile -o " + fib_path()), 2, {"--run", "--weights", "--random-weights"});
  ASSERT_EQ(compile("--batch 2").code, 0);
  const auto infer = [](const std::vector<int64_t>& shape, const std::string& options = "") {
    return run_fib("infer --engine " + fib_path() + " --input " + golden_input(shape) + " --out " +
                   scratch_path("refused.npy") + options);
  };
  expect_refusal(infer({1, 3, 32, 32}), 2, {"32 x 32", "64 x 64"});
  expect_refusal(infer({1, 1, 64, 64}), 1, {"1 x 64 x 64", "3 x 64 x 64"});
  expect_refusal(infer({3, 3, 64, 64}), 2, {"a batch of 3", "up to 2"});
  expect_refusal(infer({1, 3, 64, 64}, " --model mini_vit"), 2, {"--model", "--engine"});
}

TEST(Compile, takes_models_of_clips) {
  const Outcome outcome =
      run_fib("compile --quiet --random-weights --model mini_timesformer --attention fibottention -o " + fib_path());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(inferred({2, 3, 4, 64, 64}).size(), 20u);
  expect_refusal(run_fib("infer --engine " + fib_path() + " --input " + golden_input({1, 3, 2, 64, 64}) + " --out " +
                         scratch_path("refused.npy")),
                 1, {"3 x 2 x 64 x 64", "3 x 4 x 64 x 64"});
}

TEST(Compile, takes_random_weights_only_where_they_are_asked_for) {
  const std::string model = "compile --quiet --model mini_vit -o " + fib_path();
  expect_refusal(run_fib(model), 2, {"which weights?", "--random-weights"});
  EXPECT_EQ(run_fib(model + " --random-weights").code, 0);
}

}  // namespace
}  // namespace fib::test
