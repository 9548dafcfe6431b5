// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/crop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "data/golden.h"

namespace fib {
namespace {

TEST(ResizedCrop, draws_the_boxes_of_a_second_implementation) {
  for (const auto& entry : test::augment_golden().at("resized_crop")) {
    const ImageSize size{entry[0], entry[1]};
    CounterRng rng(entry[4].get<uint64_t>(), {entry[0].get<uint64_t>()});
    const Region box = draw_resized_crop(size, {entry[2], entry[3]}, rng);
    EXPECT_EQ(test::as_list(box), entry[5].get<std::vector<int64_t>>()) << entry.dump();
  }
}

TEST(ResizedCrop, stays_inside_and_has_area_and_ratio_in_range) {
  CounterRng rng(7);
  double least = 1, most = 0;
  for (int i = 0; i < 5000; ++i) {
    const Region box = draw_resized_crop({200, 150}, {}, rng);
    ASSERT_TRUE(box.x >= 0 && box.y >= 0 && box.x + box.width <= 200 && box.y + box.height <= 150);
    const double area = static_cast<double>(box.width * box.height) / (200 * 150);
    ASSERT_NEAR(std::clamp(area, 0.08, 1.0), area, 0.01);
    const double ratio = static_cast<double>(box.width) / static_cast<double>(box.height);
    ASSERT_NEAR(std::clamp(ratio, 0.67, 1.5), ratio, 0.03);
    least = std::min(least, area);
    most = std::max(most, area);
  }
  EXPECT_LT(least, 0.09);
  EXPECT_GT(most, 0.95);
}

TEST(ResizedCrop, falls_back_to_the_largest_centred_box_of_an_extreme_image) {
  CounterRng rng(1);
  const ResizedCropRange whole{{1, 1}, {0.67, 1.5}};
  EXPECT_EQ(test::as_list(draw_resized_crop({1000, 10}, whole, rng)), (std::vector<int64_t>{492, 0, 15, 10}));
  EXPECT_EQ(test::as_list(draw_resized_crop({10, 1000}, whole, rng)), (std::vector<int64_t>{0, 492, 10, 15}));
}

TEST(Crop, takes_the_pixels_of_the_box) {
  const Image image = test::golden_image("noise-9x7");
  const Image part = cropped(image, {2, 3, 4, 2});
  ASSERT_EQ(part.pixels.size(), size_t{4 * 2 * 3});
  for (int64_t y = 0; y < 2; ++y) EXPECT_EQ(test::row_part(part, y, 0, 4), test::row_part(image, y + 3, 2, 6));
}

TEST(Flip, mirrors_each_row_and_is_its_own_inverse) {
  const Image image = test::golden_image("noise-9x7");
  Image flipped = image;
  flip_horizontally(flipped);
  for (int64_t y = 0; y < 7; ++y)
    for (int64_t x = 0; x < 9; ++x)
      for (int64_t c = 0; c < 3; ++c) ASSERT_EQ(flipped.row(y)[3 * x + c], image.row(y)[3 * (8 - x) + c]);
  flip_horizontally(flipped);
  EXPECT_EQ(flipped.pixels, image.pixels);
}

std::string text_of(const Image& image) { return {image.pixels.begin(), image.pixels.end()}; }

/// The image with a black border of `padding`, cut at every possible place.
std::set<std::string> all_pad_crops(const Image& image, int64_t padding) {
  Image padded = make_image(image.width + 2 * padding, image.height + 2 * padding);
  for (int64_t y = 0; y < image.height; ++y)
    std::copy_n(image.row(y), 3 * image.width, padded.row(y + padding) + 3 * padding);
  std::set<std::string> crops;
  for (int64_t y = 0; y <= 2 * padding; ++y)
    for (int64_t x = 0; x <= 2 * padding; ++x)
      crops.insert(text_of(cropped(padded, {x, y, image.width, image.height})));
  return crops;
}

TEST(PadCrop, gives_every_crop_of_the_padded_image_and_no_other) {
  const Image image = test::golden_image("noise-9x7");
  const auto possible = all_pad_crops(image, 2);
  ASSERT_EQ(possible.size(), size_t{25});
  std::set<std::string> seen;
  CounterRng rng(2);
  for (int i = 0; i < 500; ++i) seen.insert(text_of(pad_cropped(image, 2, rng)));
  EXPECT_EQ(seen, possible);
}

TEST(PadCrop, survives_a_padding_as_large_as_the_image) {
  const Image image = test::golden_image("noise-2x5");
  CounterRng rng(2);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(pad_cropped(image, 6, rng).pixels.size(), image.pixels.size());
}

TEST(RandomErasing, draws_the_boxes_of_a_second_implementation) {
  for (const auto& entry : test::augment_golden().at("erased_box")) {
    CounterRng rng(entry[2].get<uint64_t>(), {entry[0].get<uint64_t>()});
    const auto box = draw_erased_box({entry[0], entry[1]}, rng);
    EXPECT_EQ(box.has_value(), !entry[3].is_null()) << entry.dump();
    if (box) {
      EXPECT_EQ(test::as_list(*box), entry[3].get<std::vector<int64_t>>()) << entry.dump();
    }
  }
}

TEST(RandomErasing, fills_the_box_alone_with_standard_noise) {
  const ImageSize size{40, 30};
  std::vector<float> values(3 * 40 * 30, 9.0F);
  CounterRng rng(5);
  fill_with_noise(values.data(), 3, size, {5, 4, 30, 20}, rng);
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < 3 * 40 * 30; ++i) {
    const int64_t x = i % 40, y = i / 40 % 30;
    const bool inside = x >= 5 && x < 35 && y >= 4 && y < 24;
    ASSERT_EQ(values[static_cast<size_t>(i)] == 9.0F, !inside);
    if (!inside) continue;
    sum += values[static_cast<size_t>(i)];
    squares += values[static_cast<size_t>(i)] * values[static_cast<size_t>(i)];
  }
  EXPECT_NEAR(sum / 1800, 0, 0.1);
  EXPECT_NEAR(squares / 1800, 1, 0.1);
}

}  // namespace
}  // namespace fib
