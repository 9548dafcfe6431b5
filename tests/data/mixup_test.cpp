// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/mixup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "data/golden.h"
#include "files.h"

namespace fib {
namespace {

constexpr ImageSize kSize{4, 3};

std::vector<float> counting(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

TEST(Cutmix, takes_the_boxes_of_a_second_implementation) {
  for (const auto& entry : test::augment_golden().at("cutmix_box")) {
    const Region box = cutmix_box(entry[0], {entry[1], entry[2]}, entry[3], entry[4]);
    EXPECT_EQ(test::as_list(box), entry[5].get<std::vector<int64_t>>()) << entry.dump();
  }
}

TEST(Cutmix, lambda_is_the_share_that_the_box_leaves) {
  CounterRng rng(1);
  for (int i = 0; i < 500; ++i) {
    const Mix mix = draw_mix({.cutmix_alpha = 1}, {28, 20}, rng);
    ASSERT_EQ(mix.kind, Mix::Kind::cutmix);
    ASSERT_TRUE(mix.box.x >= 0 && mix.box.y >= 0 && mix.box.x + mix.box.width <= 28 &&
                mix.box.y + mix.box.height <= 20);
    ASSERT_DOUBLE_EQ(mix.lambda, 1 - static_cast<double>(mix.box.width * mix.box.height) / (28 * 20));
  }
}

TEST(Mixup, blends_each_image_with_the_one_at_the_other_end) {
  std::vector<float> images = counting(4 * 2 * 12);
  const std::vector<float> before = images;
  mix_images(images, 4, kSize, {Mix::Kind::mixup, 0.75, {}});
  for (size_t i = 0; i < 4; ++i)
    for (size_t v = 0; v < 24; ++v)
      ASSERT_FLOAT_EQ(images[i * 24 + v], 0.75F * before[i * 24 + v] + 0.25F * before[(3 - i) * 24 + v]);
}

TEST(Cutmix, takes_the_box_from_the_one_at_the_other_end) {
  std::vector<float> images = counting(4 * 2 * 12);
  const std::vector<float> before = images;
  mix_images(images, 4, kSize, {Mix::Kind::cutmix, 0.5, {1, 0, 2, 2}});
  for (size_t i = 0; i < 4; ++i)
    for (size_t v = 0; v < 24; ++v) {
      const size_t x = v % 4, y = v / 4 % 3;
      const bool inside = x >= 1 && x < 3 && y < 2;
      ASSERT_EQ(images[i * 24 + v], before[(inside ? 3 - i : i) * 24 + v]);
    }
}

TEST(Mixup, changes_nothing_when_decided_against) {
  std::vector<float> images = counting(3 * 12);
  const std::vector<float> before = images;
  mix_images(images, 3, kSize, {});
  EXPECT_EQ(images, before);
}

TEST(Mixup, refuses_an_odd_batch) {
  std::vector<float> images(3 * 12);
  const auto error = test::error_of([&] { mix_images(images, 3, kSize, {Mix::Kind::mixup, 0.5, {}}); });
  EXPECT_TRUE(test::mentions(error, "3 images: accepted is an even number"));
}

TEST(Mixup, targets_follow_the_smoothed_labels) {
  const std::vector<int64_t> labels = {0, 1, 2, 2};
  const auto targets = mixed_targets(labels, 4, 0.1, {Mix::Kind::mixup, 0.7, {}});
  const double off = 0.1 / 4, on = 1 - 0.1 + off;
  for (size_t i = 0; i < 4; ++i)
    for (int64_t c = 0; c < 4; ++c) {
      const double own = labels[i] == c ? on : off, other = labels[3 - i] == c ? on : off;
      EXPECT_NEAR(targets[i * 4 + static_cast<size_t>(c)], 0.7 * own + 0.3 * other, 1e-6);
    }
}

TEST(Mixup, probabilities_decide_whether_and_which) {
  const MixOptions options{.mixup_alpha = 0.8, .cutmix_alpha = 1, .probability = 0.5, .switch_probability = 0.25};
  int counts[3] = {};
  for (uint64_t step = 0; step < 8000; ++step) {
    CounterRng rng(2, {step});
    ++counts[static_cast<int>(draw_mix(options, {28, 28}, rng).kind)];
  }
  EXPECT_NEAR(counts[0] / 8000.0, 0.5, 0.02);
  EXPECT_NEAR(counts[1] / 8000.0, 0.375, 0.02);
  EXPECT_NEAR(counts[2] / 8000.0, 0.125, 0.02);
}

TEST(Mixup, off_draws_nothing) {
  CounterRng rng(2);
  EXPECT_EQ(draw_mix({}, {28, 28}, rng).kind, Mix::Kind::none);
  EXPECT_EQ(draw_mix({.mixup_alpha = 1, .probability = 0}, {28, 28}, rng).kind, Mix::Kind::none);
}

TEST(Random, symmetric_beta_has_the_right_mean_and_variance) {
  for (double alpha : {0.1, 0.8, 1.0, 5.0}) {
    CounterRng rng(11);
    double sum = 0, squares = 0;
    for (int i = 0; i < 20000; ++i) {
      const double x = symmetric_beta(rng, alpha);
      ASSERT_TRUE(x >= 0 && x <= 1) << x;
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
    }
    EXPECT_NEAR(sum / 20000, 0.5, 0.01) << alpha;
    EXPECT_NEAR(squares / 20000, 1 / (4 * (2 * alpha + 1)), 0.005) << alpha;
  }
}

TEST(Random, symmetric_beta_of_a_tiny_alpha_is_almost_a_coin_and_never_nan) {
  CounterRng rng(12);
  int ends = 0;
  for (int i = 0; i < 2000; ++i) {
    const double x = symmetric_beta(rng, 0.001);
    ASSERT_FALSE(std::isnan(x));
    ends += x < 0.01 || x > 0.99 ? 1 : 0;
  }
  EXPECT_GT(ends, 1950);
}

TEST(Random, standard_normal_has_its_moments) {
  CounterRng rng(13);
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < 50000; ++i) {
    const double x = standard_normal(rng);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / 50000, 0, 0.02);
  EXPECT_NEAR(squares / 50000, 1, 0.02);
  EXPECT_NEAR(fourth / 50000, 3, 0.15);
}

}  // namespace
}  // namespace fib
