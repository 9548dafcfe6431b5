// SPDX-License-Identifier: Apache-2.0
#include "prediction/accuracy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fib::prediction {
namespace {

/// Says that the image's first pixel is its class, with two views a class apart.
class FirstPixel final : public Predictor {
 public:
  explicit FirstPixel(int views) : Predictor({.classes = 3}) { info_.view.views = views; }
  Logits infer(const NpyArray&, int64_t) override { return {}; }

 private:
  std::vector<float> forward(std::span<const float> inputs) override {
    std::vector<float> rows;
    for (const float pixel : inputs)
      for (int c = 0; c < 3; ++c) rows.push_back(static_cast<float>(c) == pixel ? 4.0F : 0.0F);
    return rows;
  }
};

TEST(Predictor, gives_the_mean_over_the_views_of_a_sample) {
  FirstPixel predictor(2);
  const std::vector<float> inputs{0, 1, 2, 2};
  EXPECT_EQ(predictor.logits(inputs), (std::vector<float>{2, 2, 0, 0, 0, 4}));
}

TEST(Predictor, refuses_a_wrong_number_of_class_names) {
  FirstPixel predictor(1);
  EXPECT_THROW(predictor.set_class_names({"one", "two"}), std::runtime_error);
  predictor.set_class_names({"one", "two", "three"});
  EXPECT_EQ(predictor.info().class_names.size(), 3U);
}

TEST(CropRatio, gives_the_shorter_side_back) {
  for (const int64_t crop : {28, 224, 384})
    for (int64_t shorter = crop; shorter < 2 * crop; ++shorter)
      ASSERT_EQ(shorter_side(crop, crop_ratio_for(shorter, crop)), shorter);
  EXPECT_EQ(shorter_side(224, 0.875), 256);
  EXPECT_THROW(crop_ratio_for(223, 224), std::invalid_argument);
}

TEST(AccuracySums, count_hits_and_add_cross_entropy) {
  AccuracySums sums;
  sums.add(std::vector<float>{1, 3, 2, 0, 0, 0}, 1);
  sums.add(std::vector<float>{5, 4, 3, 2, 1, 0}, 4);
  sums.add(std::vector<float>{5, 4, 3, 2, 1, 0}, 5);
  const Accuracy a = sums.result(1);
  EXPECT_EQ(a.images, 3);
  EXPECT_DOUBLE_EQ(a.top1, 1.0 / 3);
  EXPECT_DOUBLE_EQ(a.top5, 2.0 / 3);
  const double first = std::log(std::exp(1 - 3.0) + 1 + std::exp(2 - 3.0) + 3 * std::exp(-3.0));
  double others = 0;
  for (int c = 0; c < 6; ++c) others += std::exp(static_cast<double>(c));
  EXPECT_NEAR(a.loss, (first + 2 * std::log(others) - 1) / 3, 1e-12);
}

TEST(AccuracySums, take_the_lower_class_of_equals_and_nan_for_no_hit) {
  AccuracySums sums;
  sums.add(std::vector<float>{1, 1}, 0);
  sums.add(std::vector<float>{1, 1}, 1);
  EXPECT_EQ(sums.values[1], 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  sums.add(std::vector<float>{nan, nan}, 0);
  EXPECT_EQ(sums.values[1], 1);
}

TEST(Predictions, are_counted_by_truth_and_answer_and_the_surest_mistakes_come_first) {
  const std::vector<Prediction> list = {{0, 1, 1, .9}, {1, 1, 2, .4}, {2, 0, 2, .8}, {3, 1, 2, .8}, {4, 2, 2, 1}};
  const auto counts = confusion(list, 3);
  EXPECT_EQ(counts[1], (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(counts[0], (std::vector<int64_t>{0, 0, 1}));
  const auto worst = worst_mistakes(list, 2);
  ASSERT_EQ(worst.size(), 2U);
  EXPECT_EQ(worst[0].index, 2U);
  EXPECT_EQ(worst[1].index, 3U);
  EXPECT_EQ(worst_mistakes(list, 10).size(), 3U);
}

}  // namespace
}  // namespace fib::prediction
