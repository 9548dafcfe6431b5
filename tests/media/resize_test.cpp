// SPDX-License-Identifier: Apache-2.0
#include "data/images/resize.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "files.h"
#include "noise.h"

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

}  // namespace
}  // namespace fib
