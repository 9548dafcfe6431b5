// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/rand_augment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/golden.h"
#include "files.h"

namespace fib {
namespace {

TEST(RandAugment, parses_the_recipe_of_the_paper) {
  const RandAugment augment = RandAugment::parse("rand-m15-n2-mstd1.0-inc1");
  EXPECT_EQ(augment.magnitude, 15);
  EXPECT_EQ(augment.layers, 2);
  EXPECT_EQ(augment.magnitude_std, 1.0);
  EXPECT_EQ(augment.probability, 0.5);
  EXPECT_EQ(augment.magnitude_max, 10);
  EXPECT_TRUE(augment.increasing);
}

TEST(RandAugment, sections_come_in_any_order_and_have_timms_defaults) {
  const RandAugment plain = RandAugment::parse("rand");
  EXPECT_EQ(plain.magnitude, 10);
  EXPECT_EQ(plain.layers, 2);
  EXPECT_FALSE(plain.increasing);
  const RandAugment full = RandAugment::parse("rand-mstd101-p0.3-mmax20-n3-m9");
  EXPECT_TRUE(std::isinf(full.magnitude_std));
  EXPECT_EQ(full.probability, 0.3);
  EXPECT_EQ(full.magnitude_max, 20);
  EXPECT_EQ(full.layers, 3);
  EXPECT_EQ(full.magnitude, 9);
}

TEST(RandAugment, refuses_what_it_does_not_understand) {
  for (const char* text : {"", "augmix-m3", "rand-", "rand-m", "rand-q3", "rand-m9.5", "rand-m9-m9", "rand-p1.5",
                           "rand-inc0", "rand-n-2", "rand-mstdx", "rand-tweights", "rand-m1e9", "rand-m9 "}) {
    const std::string error = test::error_of([&] { RandAugment::parse(text); });
    EXPECT_TRUE(test::mentions(error, "RandAugment '" + std::string(text) + "'")) << text;
    EXPECT_TRUE(test::mentions(error, "accepted is rand")) << text;
  }
}

TEST(RandAugment, arguments_at_full_level_are_those_of_the_table) {
  const auto at = [](AugmentOp op, bool negative) { return augment_argument(op, 10, negative, true); };
  EXPECT_DOUBLE_EQ(at(AugmentOp::rotate, false), 30);
  EXPECT_DOUBLE_EQ(at(AugmentOp::rotate, true), -30);
  EXPECT_EQ(at(AugmentOp::posterize, false), 0);
  EXPECT_EQ(at(AugmentOp::solarize, false), 0);
  EXPECT_EQ(at(AugmentOp::solarize_add, false), 110);
  EXPECT_DOUBLE_EQ(at(AugmentOp::color, false), 1.9);
  EXPECT_DOUBLE_EQ(at(AugmentOp::sharpness, true), 0.1);
  EXPECT_DOUBLE_EQ(at(AugmentOp::shear_x, true), -0.3);
  EXPECT_DOUBLE_EQ(at(AugmentOp::translate_y, false), 0.45);
}

TEST(RandAugment, arguments_grow_with_the_level_in_the_increasing_set) {
  for (int level = 0; level <= 10; ++level) {
    const auto at = [level](AugmentOp op) { return augment_argument(op, level, false, true); };
    EXPECT_EQ(at(AugmentOp::posterize), 4 - level * 4 / 10) << level;
    EXPECT_EQ(at(AugmentOp::solarize), 256 - level * 256 / 10) << level;
    EXPECT_EQ(at(AugmentOp::solarize_add), level * 11) << level;
    EXPECT_NEAR(at(AugmentOp::contrast), 1 + 0.09 * level, 1e-12);
    EXPECT_NEAR(at(AugmentOp::rotate), 3 * level, 1e-12);
  }
}

TEST(RandAugment, the_other_set_passes_through_no_change) {
  EXPECT_DOUBLE_EQ(augment_argument(AugmentOp::color, 5, true, false), 1.0);
  EXPECT_DOUBLE_EQ(augment_argument(AugmentOp::color, 0, false, false), 0.1);
  EXPECT_EQ(augment_argument(AugmentOp::posterize, 10, false, false), 4);
  EXPECT_EQ(augment_argument(AugmentOp::solarize, 10, false, false), 256);
}

TEST(RandAugment, magnitude_15_saturates_at_10) {
  const RandAugment augment = RandAugment::parse("rand-m15-mstd1.0");
  CounterRng rng(3);
  int below = 0;
  for (int i = 0; i < 10000; ++i) below += augment.draw_level(rng) < 10 ? 1 : 0;
  EXPECT_LE(below, 2);  // five standard deviations
}

TEST(RandAugment, levels_are_normal_around_the_magnitude_and_clamped) {
  const RandAugment augment = RandAugment::parse("rand-m5-mstd2");
  CounterRng rng(4);
  double sum = 0, squares = 0;
  for (int i = 0; i < 20000; ++i) {
    const double level = augment.draw_level(rng);
    ASSERT_TRUE(level >= 0 && level <= 10);
    sum += level;
    squares += (level - 5) * (level - 5);
  }
  EXPECT_NEAR(sum / 20000, 5, 0.06);
  EXPECT_NEAR(std::sqrt(squares / 20000), 1.97, 0.06);  // the tails beyond 2.5 deviations are cut
}

TEST(RandAugment, applies_half_of_what_it_draws) {
  // Invert alone changes the flat image at n = 1 with probability 1/15 · 1/2; every other operation but these keeps
  // grey levels of a flat image where they are or moves them, so count what stays.
  const Image flat = test::golden_image("flat-3x4");
  const RandAugment always = RandAugment::parse("rand-m10-n1-p1-inc1"), half = RandAugment::parse("rand-m10-n1-inc1");
  const auto changed = [&](const RandAugment& augment) {
    int count = 0;
    for (uint64_t i = 0; i < 6000; ++i) {
      Image image = flat;
      CounterRng rng(9, {i});
      augment.apply(image, {0, 0, 0}, rng);
      count += image.pixels != flat.pixels ? 1 : 0;
    }
    return count / 6000.0;
  };
  EXPECT_NEAR(changed(half) / changed(always), 0.5, 0.03);
}

TEST(RandAugment, is_a_function_of_its_generator) {
  const RandAugment augment = RandAugment::parse("rand-m9-n3-mstd0.5-inc1");
  for (uint64_t i = 0; i < 50; ++i) {
    Image a = test::golden_image("waves-8x8"), b = a;
    CounterRng first(1, {i}), second(1, {i});
    augment.apply(a, {1, 2, 3}, first);
    augment.apply(b, {1, 2, 3}, second);
    EXPECT_EQ(a.pixels, b.pixels);
  }
}

}  // namespace
}  // namespace fib
