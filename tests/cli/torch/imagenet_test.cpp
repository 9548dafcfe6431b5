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

}  // namespace
}  // namespace fib::test
