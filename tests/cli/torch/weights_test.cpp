// SPDX-License-Identifier: Apache-2.0
// Weights carry how they see images: what was learned is found again by every command, without being told.
#include <filesystem>

#include "files.h"
#include "mini_vit.h"
#include "tiny_mnist.h"

namespace fib::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kImage = FIB_TEST_DATA "/images/rgb.jpg";

/// Two classes of one image each, the same for training and testing.
std::string two_images() {
  const std::string folder = scratch_path("two_images");
  fs::remove_all(folder);
  for (const char* part : {"train", "val"}) {
    for (const auto& [name, image] : {std::pair{"colored", "rgb.jpg"}, std::pair{"grey", "grey.jpg"}}) {
      fs::create_directories(folder + "/" + part + "/" + name);
      fs::copy_file(fs::path(FIB_TEST_DATA) / "images" / image, folder + "/" + part + "/" + name + "/" + image);
    }
  }
  return folder;
}

std::string trained_on_folder(const std::string& folder) {
  const std::string run = scratch_path("folder_run");
  fs::remove_all(run);
  const Outcome outcome =
      run_fib("train --quiet --model mini_vit --data folder:" + folder + " --out " + run +
              " --epochs 3 --batch 2 --validation-fraction 0 --warmup-epochs 0 --ema 0 --threads 1 --eval-crop 0.8");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return run;
}

std::string trained_on_grey() {
  const std::string data = scratch_path("grey_data"), run = scratch_path("grey_run");
  fs::remove_all(run);
  fs::remove_all(data);
  write_tiny_mnist(data);
  const Outcome outcome = run_fib("train --quiet --model vit_nano_patch2_28 --data mnist:" + data + " --out " + run +
                                  " --epochs 1 --batch 16 --warmup-epochs 0 --threads 1");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return run;
}

TEST(Weights, are_tested_as_the_run_that_made_them) {
  const std::string folder = two_images(), run = trained_on_folder(folder);
  const Outcome by_run = run_fib("eval --json --run " + run);
  const Outcome by_weights = run_fib("eval --json --weights " + run + "/model.safetensors --data folder:" + folder);
  ASSERT_EQ(by_run.code, 0) << by_run.err;
  ASSERT_EQ(by_weights.code, 0) << by_weights.err;
  const json told = json::parse(by_weights.out);
  EXPECT_EQ(told["model"], "mini_vit");
  EXPECT_EQ(told["attention"], "fibottention");
  EXPECT_DOUBLE_EQ(told["loss"], json::parse(by_run.out)["loss"]);
  EXPECT_EQ(told["input"]["as_told_by"], "the weights");
  EXPECT_NEAR(told["input"]["mean"][0], 0.485, 1e-6);
  EXPECT_DOUBLE_EQ(told["input"]["crop_ratio"], 0.8);
}

TEST(Weights, name_the_classes_and_classify_as_they_were_trained) {
  const std::string folder = two_images(), run = trained_on_folder(folder);
  const Outcome evaluated = run_fib("eval --json --run " + run);
  const Outcome classified =
      run_fib("classify --json --run " + run + " " + folder + "/val/colored/rgb.jpg " + folder + "/val/grey/grey.jpg");
  ASSERT_EQ(classified.code, 0) << classified.err;
  double loss = 0;
  const std::string names[] = {"colored", "grey"};
  const json images = json::parse(classified.out);
  for (size_t i = 0; i < 2; ++i) {
    for (const json& entry : images[i]["top"]) {
      EXPECT_EQ(entry["label"], names[entry["class"].get<size_t>()]);
      if (entry["class"] == i) loss -= std::log(entry["probability"].get<double>()) / 2;
    }
  }
  EXPECT_NEAR(json::parse(evaluated.out)["loss"], loss, 1e-5);
}

TEST(Weights, of_a_run_answer_for_arrays_too) {
  const std::string run = trained_on_folder(two_images()), out = scratch_path("of_run.npy");
  const Outcome outcome = run_fib("infer --run " + run + " --input " + golden_input({2, 3, 64, 64}) + " --out " + out);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(NpyArray(out).shape(), (std::vector<int64_t>{2, 2})) << "images, classes of the run";
}

TEST(Weights, of_a_grey_model_classify_color_images) {
  const std::string run = trained_on_grey();
  const Outcome by_run = run_fib("classify --run " + run + " " + kImage);
  EXPECT_EQ(by_run.code, 0) << by_run.err;
  EXPECT_TRUE(mentions(by_run.out, "28 x 28, grey")) << by_run.out;
  EXPECT_TRUE(mentions(by_run.out, "as the weights say")) << by_run.out;
  const Outcome by_weights = run_fib("classify --weights " + run + "/ema.safetensors " + kImage);
  EXPECT_EQ(by_weights.code, 0) << by_weights.err;
}

TEST(Weights, name_what_contradicts_them) {
  const std::string run = trained_on_grey();
  const Outcome outcome =
      run_fib("classify --weights " + run + "/model.safetensors --mean 0.5 --attention full " + "--crop 56 " + kImage);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"mean 0.5 is asked for, the weights say 0.", "attention full is asked for, the weights say",
                           "resolution 56 is asked for, the weights say 28"}) {
    EXPECT_TRUE(mentions(outcome.err, part)) << outcome.err;
  }
}

TEST(Weights, that_tell_nothing_need_a_model_and_images) {
  const std::string weights = mini_vit_weights();
  expect_refusal(run_fib("classify --weights " + weights + " " + kImage), 2, {"which model", "--model"});
  expect_refusal(run_fib("eval --model mini_vit --weights " + weights), 2, {"--data"});
  expect_refusal(run_fib("eval --data mnist"), 2, {"--run DIR", "--weights"});
}

TEST(Weights, say_how_many_channels_they_take) {
  const std::string array = golden_input({1, 12, 64, 64});
  expect_refusal(run_fib("infer --model mini_vit --weights " + mini_vit_weights() + " --input " + array + " --out " +
                         scratch_path("logits.npy")),
                 1, {"12 channels", "take 3"});
}

}  // namespace
}  // namespace fib::test
