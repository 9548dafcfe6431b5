// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "data/golden.h"
#include "data/transforms/pillow_ops.h"
#include "data/transforms/rand_augment.h"

namespace fib {
namespace {

const std::map<std::string, AugmentOp> kOps = {{"autocontrast", AugmentOp::autocontrast},
                                               {"equalize", AugmentOp::equalize},
                                               {"invert", AugmentOp::invert},
                                               {"rotate", AugmentOp::rotate},
                                               {"posterize", AugmentOp::posterize},
                                               {"solarize", AugmentOp::solarize},
                                               {"solarize_add", AugmentOp::solarize_add},
                                               {"color", AugmentOp::color},
                                               {"contrast", AugmentOp::contrast},
                                               {"brightness", AugmentOp::brightness},
                                               {"sharpness", AugmentOp::sharpness},
                                               {"shear_x", AugmentOp::shear_x},
                                               {"shear_y", AugmentOp::shear_y},
                                               {"translate_x", AugmentOp::translate_x},
                                               {"translate_y", AugmentOp::translate_y}};

TEST(AugmentOps, equal_pillow_to_the_bit) {
  const auto& golden = test::augment_golden();
  const Fill fill = golden.at("fill").get<Fill>();
  std::map<std::string, int> compared;
  for (const auto& entry : golden.at("operations")) {
    const std::string name = entry[1];
    Image image = test::golden_image(entry[0]);
    apply_augment(image, kOps.at(name), entry[2], fill);
    EXPECT_EQ(image.pixels, test::from_hex(entry[3])) << name << " " << entry[2] << " of " << entry[0];
    ++compared[name];
  }
  EXPECT_EQ(compared.size(), size_t{kAugmentOps});
}

TEST(AugmentOps, grey_images_stay_grey) {
  const Image noise = test::golden_image("noise-9x7");
  for (const auto& [name, op] : kOps) {
    Image image = noise;
    for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = noise.pixels[i / 3];
    apply_augment(image, op, augment_argument(op, 7, false, true), {50, 50, 50});
    for (size_t i = 0; i < image.pixels.size(); i += 3) {
      ASSERT_EQ(image.pixels[i], image.pixels[i + 1]) << name;
      ASSERT_EQ(image.pixels[i], grey_of(&image.pixels[i])) << name;
    }
  }
}

TEST(Warp, moves_by_whole_pixels_exactly_and_fills_the_rest) {
  const Image image = test::golden_image("noise-9x7");
  const Image moved = warped(image, {.c = 2}, {1, 2, 3});
  for (int64_t y = 0; y < 7; ++y) {
    EXPECT_EQ(test::row_part(moved, y, 0, 7), test::row_part(image, y, 2, 9));
    EXPECT_EQ(test::row_part(moved, y, 8, 9), (std::vector<uint8_t>{1, 2, 3}));
  }
}

}  // namespace
}  // namespace fib
