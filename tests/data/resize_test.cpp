// SPDX-License-Identifier: Apache-2.0
#include "data/images/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "data/golden.h"
#include "files.h"

namespace fib {

namespace {

using test::error_of;
using test::from_hex;
using test::golden;
using test::mentions;
using test::noise_image;

const std::map<std::string, Filter> kFilters{
    {"box", Filter::box}, {"bilinear", Filter::bilinear}, {"bicubic", Filter::bicubic}, {"lanczos", Filter::lanczos}};

TEST(Resize, equals_pillow_bit_by_bit) {
  const auto cases = golden("resize_golden.json");
  ASSERT_EQ(cases.size(), 32u);
  for (const auto& c : cases) {
    const std::array<int64_t, 2> from = c["from"], to = c["to"];
    const Image image = noise_image(from[0], from[1], static_cast<uint32_t>(from[0] * 100 + from[1]));
    const Image resized = resize(image, {to[0], to[1]}, kFilters.at(c["filter"]));
    EXPECT_EQ(resized.width, to[0]);
    EXPECT_EQ(resized.height, to[1]);
    EXPECT_EQ(resized.pixels, from_hex(c["rgb"])) << c["filter"] << " " << c["from"] << " to " << c["to"];
  }
}

TEST(Resize, of_a_region_is_that_region_of_the_whole) {
  const Image image = noise_image(37, 29, 3);
  const Region region{5, 3, 7, 9};
  for (const auto& [name, filter] : kFilters) {
    const Image whole = resize(image, {19, 23}, filter), part = resize_region(image, {19, 23}, region, filter);
    for (int64_t y = 0; y < region.height; ++y)
      EXPECT_TRUE(std::equal(part.row(y), part.row(y) + 3 * region.width, whole.row(y + region.y) + 3 * region.x))
          << name;
  }
}

TEST(Resize, refuses_empty_sizes_and_regions_outside) {
  const Image image = noise_image(4, 4, 1);
  EXPECT_TRUE(mentions(error_of([&] { resize(image, {0, 3}, Filter::box); }), "4×4 to 0×3"));
  EXPECT_TRUE(mentions(error_of([&] { resize({}, {3, 3}, Filter::box); }), "0×0 to 3×3"));
  for (const Region& region : {Region{-1, 0, 2, 2}, Region{0, 2, 2, 2}, Region{0, 0, 0, 1}, Region{INT64_MAX, 0, 1, 1}})
    EXPECT_TRUE(mentions(error_of([&] { resize_region(image, {3, 3}, region, Filter::box); }), "is not inside 3×3"));
}

using test::error_of;
using test::mentions;
using test::noise_image;

TEST(CenterCrop, resizes_the_shorter_side_and_rounds_the_longer_down) {
  EXPECT_EQ(resized_size({500, 375}, 248).width, 330);  // 248 · 500 / 375 = 330.67
  EXPECT_EQ(resized_size({500, 375}, 248).height, 248);
  EXPECT_EQ(resized_size({375, 500}, 248).height, 330);
  EXPECT_EQ(resized_size({7, 7}, 248).width, 248);
}

TEST(CenterCrop, crops_the_center_with_halves_to_even) {
  EXPECT_EQ(center_crop_begin(248, 224), 12);
  EXPECT_EQ(center_crop_begin(225, 224), 0);  // round(0.5) = 0
  EXPECT_EQ(center_crop_begin(227, 224), 2);  // round(1.5) = 2
  EXPECT_EQ(center_crop_begin(229, 224), 2);  // round(2.5) = 2
}

TEST(CenterCrop, takes_the_center_of_the_resized_image) {
  const Image image = noise_image(40, 30, 5);
  const CenterCrop options{.resize_shorter = 16, .crop = 10};
  const Image whole = resize(image, {21, 16}, Filter::bicubic), center = resize_and_crop(image, options);
  for (int64_t y = 0; y < 10; ++y)
    EXPECT_TRUE(std::equal(center.row(y), center.row(y) + 30, whole.row(y + 3) + 3 * 6));  // round(5.5) = 6
}

TEST(CenterCrop, accepts_one_pixel_and_extreme_strips) {
  for (const Image& image : {noise_image(1, 1, 1), noise_image(1, 100000, 2), noise_image(100000, 1, 3)})
    EXPECT_EQ(resize_and_crop(image, {}).pixels.size(), size_t{3 * 224 * 224});
}

TEST(CenterCrop, refuses_more_than_there_is) {
  const auto error = error_of([] { resize_and_crop(noise_image(4, 4, 1), {.resize_shorter = 7, .crop = 8}); });
  EXPECT_TRUE(mentions(error, "crop 8, accepted is 1 to 7"));
}

}  // namespace

}  // namespace fib
