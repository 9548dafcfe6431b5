// SPDX-License-Identifier: Apache-2.0
#include "data/preprocess.h"

#include <gtest/gtest.h>

#include <vector>

#include "files.h"
#include "noise.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;
using test::noise_image;

TEST(Preprocess, resizes_the_shorter_side_and_rounds_the_longer_down) {
  EXPECT_EQ(resized_size({500, 375}, 248).width, 330);  // 248 · 500 / 375 = 330.67
  EXPECT_EQ(resized_size({500, 375}, 248).height, 248);
  EXPECT_EQ(resized_size({375, 500}, 248).height, 330);
  EXPECT_EQ(resized_size({7, 7}, 248).width, 248);
}

TEST(Preprocess, crops_the_centre_with_halves_to_even) {
  EXPECT_EQ(centre_crop_begin(248, 224), 12);
  EXPECT_EQ(centre_crop_begin(225, 224), 0);  // round(0.5) = 0
  EXPECT_EQ(centre_crop_begin(227, 224), 2);  // round(1.5) = 2
  EXPECT_EQ(centre_crop_begin(229, 224), 2);  // round(2.5) = 2
}

TEST(Preprocess, takes_the_centre_of_the_resized_image) {
  const Image image = noise_image(40, 30, 5);
  const Preprocess options{.resize_shorter = 16, .crop = 10};
  const Image whole = resize(image, {21, 16}, Filter::bicubic), centre = resize_and_crop(image, options);
  for (int64_t y = 0; y < 10; ++y)
    EXPECT_TRUE(std::equal(centre.row(y), centre.row(y) + 30, whole.row(y + 3) + 3 * 6));  // round(5.5) = 6
}

TEST(Preprocess, writes_planes_of_normalized_values) {
  Image image = make_image(4, 4);
  for (size_t i = 0; i < 16; ++i) image.pixels[3 * i] = 255, image.pixels[3 * i + 1] = 51;
  const Preprocess options{.resize_shorter = 4, .crop = 2, .mean = {0.5f, 0.1f, 0.25f}, .std = {0.5f, 0.1f, 2.0f}};
  std::vector<float> values(12);
  preprocess(image, options, values);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(values[i], 1.0f);
    EXPECT_FLOAT_EQ(values[4 + i], 1.0f);
    EXPECT_EQ(values[8 + i], -0.125f);
  }
}

TEST(Preprocess, accepts_one_pixel_and_extreme_strips) {
  std::vector<float> values(3 * 224 * 224);
  for (const Image& image : {noise_image(1, 1, 1), noise_image(1, 100000, 2), noise_image(100000, 1, 3)})
    EXPECT_NO_THROW(preprocess(image, {}, values));
}

TEST(Preprocess, refuses_impossible_options) {
  const Image image = noise_image(4, 4, 1);
  std::vector<float> values(3 * 8 * 8);
  EXPECT_TRUE(mentions(error_of([&] { preprocess(image, {.resize_shorter = 7, .crop = 8}, values); }),
                       "crop 8, accepted is 1 to 7"));
  EXPECT_TRUE(
      mentions(error_of([&] { preprocess(image, {.resize_shorter = 9, .crop = 9}, values); }), "needed are 243"));
}

}  // namespace
}  // namespace fib
