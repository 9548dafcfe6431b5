// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "mini_vit.h"

namespace fib::test {
namespace {

std::string logits_path() { return scratch_path("logits.npy"); }

Outcome infer(const std::string& options, const std::vector<int64_t>& shape = {1, 3, 64, 64}, int64_t classes = 10) {
  return run_fib(with_mini_vit("infer", classes) + "--input " + golden_input(shape) + " --out " + logits_path() + " " +
                 options);
}

struct Variant {
  const char* attention;
  const char* result;
};

class GoldenInference : public testing::TestWithParam<Variant> {
 protected:
  void expect_golden(const std::string& options, double tolerance) {
    const Outcome outcome = infer("--attention " + std::string(GetParam().attention) + options);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const NpyArray logits(logits_path());
    ASSERT_EQ(logits.shape(), (std::vector<int64_t>{1, 10}));
    const std::vector<double> want = mini_vit_golden(GetParam().result)["first8"];
    for (size_t i = 0; i < want.size(); ++i) {
      const double got = logits.type() == NpyType::float64 ? logits.values<double>()[i] : logits.values<float>()[i];
      EXPECT_NEAR(got, want[i], tolerance) << "logit " << i;
    }
  }
};

TEST_P(GoldenInference, has_all_digits_in_float64) { expect_golden(" --dtype f64", 1e-10); }
TEST_P(GoldenInference, is_within_rounding_in_float32) { expect_golden("", 2e-5); }

INSTANTIATE_TEST_SUITE_P(MiniVit, GoldenInference,
                         testing::Values(Variant{"full", "dense"},
                                         Variant{"fibottention:permute=none", "fib_wythoff_neginf"},
                                         Variant{"fibottention-modified:permute=none", "fib_modified_neginf"},
                                         Variant{"fibottention:permute=none,masking=zero", "fib_wythoff_scorezero"},
                                         Variant{"fibottention", "fib_wythoff_neginf_pyshuffle_seed_eq_layer"}),
                         [](const auto& variant) { return std::string(variant.param.result); });

TEST(Infer, writes_float32_unless_asked_for_more) {
  ASSERT_EQ(infer("").code, 0);
  EXPECT_EQ(NpyArray(logits_path()).type(), NpyType::float32);
  ASSERT_EQ(infer("--dtype f64").code, 0);
  EXPECT_EQ(NpyArray(logits_path()).type(), NpyType::float64);
}

TEST(Infer, follows_the_size_of_the_pictures) {
  const Outcome outcome = infer("--attention fibottention", {2, 3, 96, 80});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(NpyArray(logits_path()).shape(), (std::vector<int64_t>{2, 10}));
}

TEST(Infer, takes_the_number_of_classes_from_the_weights) {
  ASSERT_EQ(infer("", {1, 3, 64, 64}, 7).code, 0);
  EXPECT_EQ(NpyArray(logits_path()).shape(), (std::vector<int64_t>{1, 7}));
}

TEST(Infer, gives_the_same_for_any_batch) {
  ASSERT_EQ(infer("--dtype f64 --batch 1", {3, 3, 64, 64}).code, 0);
  const NpyArray one(logits_path());
  ASSERT_EQ(infer("--dtype f64 --batch 3", {3, 3, 64, 64}).code, 0);
  const NpyArray three(logits_path());
  for (size_t i = 0; i < 30; ++i) EXPECT_NEAR(one.values<double>()[i], three.values<double>()[i], 1e-12);
}

TEST(Infer, refuses_weights_of_another_model_and_writes_nothing) {
  std::filesystem::remove(logits_path());
  const Outcome outcome = run_fib("infer --model vit_nano_patch2_28 --weights " + mini_vit_weights() + " --input " +
                                  golden_input({1, 3, 28, 28}) + " --out " + logits_path());
  expect_refusal(outcome, 1, {"vit_nano_patch2_28", "misshapen"});
  EXPECT_FALSE(std::filesystem::exists(logits_path()));
}

TEST(Infer, refuses_what_is_no_batch_of_pictures) {
  expect_refusal(infer("", {64, 64}), 1, {"input.npy", "[B,C,H,W]", "[64,64]"});
  expect_refusal(infer("", {1, 4, 64, 64}), 1, {"4 channels", "take 3"});
}

TEST(Infer, says_before_the_work_that_it_cannot_write) {
  const Outcome outcome =
      run_fib(with_mini_vit("infer") + "--input " + golden_input({1, 3, 64, 64}) + " --out /nowhere/logits.npy");
  expect_refusal(outcome, 1, {"/nowhere/logits.npy"});
}

TEST(Infer, names_the_nearest_model_attention_and_option) {
  const std::string rest = " --weights w --input x.npy --out y.npy";
  expect_refusal(run_fib("infer --model mini_vt" + rest), 2, {"mini_vt", "did you mean 'mini_vit'"});
  expect_refusal(run_fib("infer --model mini_vit --attention topc" + rest), 2, {"did you mean 'topk'"});
  expect_refusal(run_fib("infer --model mini_vit --dtpye f64" + rest), 2, {"did you mean '--dtype'"});
  expect_refusal(run_fib("infer --model mini_vit --dtype f16" + rest), 2, {"--dtype", "f16", "f32", "f64"});
  expect_refusal(run_fib("infer --model mini_vit --input x.npy --out y.npy"), 2, {"--weights"});
}

TEST(Infer, refuses_a_key_given_twice) {
  expect_refusal(infer("--attention fibottention:wmin=5 --wmin 7"), 2, {"wmin is given twice"});
}

}  // namespace
}  // namespace fib::test
