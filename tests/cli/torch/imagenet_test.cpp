// SPDX-License-Identifier: Apache-2.0
// ViT-Ti with the weights of timm on 200 images of the ImageNet validation set, against timm's own results:
//   FIB_VIT_WEIGHTS   vit_tiny_patch16_224.safetensors
//   FIB_IMAGENET_VAL  a folder of class folders named by index, with those images
#include <cstdlib>
#include <filesystem>

#include "mini_vit.h"

namespace fib::test {
namespace {

using nlohmann::json;

class ImageNet : public testing::Test {
 protected:
  void SetUp() override {
    const char* weights = std::getenv("FIB_VIT_WEIGHTS");
    const char* images = std::getenv("FIB_IMAGENET_VAL");
    if (weights == nullptr || images == nullptr) GTEST_SKIP() << "FIB_VIT_WEIGHTS and FIB_IMAGENET_VAL are not set";
    model_ = " --model vit_tiny_patch16_224 --weights " + std::string(weights);
    pictures_ = images;
  }

  std::string model_, pictures_;
};

TEST_F(ImageNet, accuracy_is_timms) {
  const Outcome outcome = run_fib("eval --json" + model_ + " --data folder:" + pictures_);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  ASSERT_EQ(result["images"], 200);
  EXPECT_NEAR(200 * result["top1"].get<double>(), 150, 1);
  EXPECT_NEAR(200 * result["top5"].get<double>(), 187, 1);
}

TEST_F(ImageNet, first_picture_has_timms_classes_and_logits) {
  std::string image;
  for (const auto& entry : std::filesystem::directory_iterator(pictures_ + "/000")) {
    if (entry.path().stem().string().ends_with("00000293")) image = entry.path();
  }
  ASSERT_NE(image, "") << "no image …00000293 in class 000";
  const Outcome outcome = run_fib("classify --json" + model_ + " " + image);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json top = json::parse(outcome.out)[0]["top"];
  const std::vector<int> classes = {394, 0, 391, 389, 390};
  const std::vector<double> logits = {15.311, 14.275, 12.308, 11.972, 11.522};
  for (size_t i = 0; i < classes.size(); ++i) {
    EXPECT_EQ(top[i]["class"], classes[i]);
    EXPECT_NEAR(top[i]["logit"], logits[i], 0.05);
  }
}

/// The class that a compiled model finds most probable, for each image.
std::vector<int> found_by_engine(const std::string& engine, const std::string& folder) {
  const Outcome outcome = run_fib("classify --json --top 1 --engine " + engine + " " + folder + "/*/*");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::vector<int> classes;
  for (const json& image : json::parse(outcome.out)) classes.push_back(image["top"][0]["class"]);
  return classes;
}

TEST_F(ImageNet, compiled_models_of_low_precision_agree_with_float32) {
  const auto compiled = [&](const std::string& precision) {
    const std::string file = scratch_path(precision + ".fib");
    EXPECT_EQ(run_fib("compile --quiet" + model_ + " --precision " + precision + " -o " + file).code, 0);
    return file;
  };
  const std::vector<int> wanted = found_by_engine(compiled("f32"), pictures_);
  ASSERT_EQ(wanted.size(), 200u);
  for (const char* precision : {"bf16", "int8"}) {
    const std::string file = compiled(precision);
    const std::vector<int> found = found_by_engine(file, pictures_);
    int same = 0;
    for (size_t i = 0; i < wanted.size(); ++i) same += found[i] == wanted[i];
    EXPECT_GE(same, 192) << precision;
    const json judged = json::parse(run_fib("eval --json --engine " + file + " --data folder:" + pictures_).out);
    EXPECT_GE(200 * judged["top1"].get<double>(), 147.5) << precision;
  }
}

}  // namespace
}  // namespace fib::test
