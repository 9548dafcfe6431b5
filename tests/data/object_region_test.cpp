// SPDX-License-Identifier: Apache-2.0
#include "data/object_region.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "files.h"

namespace fib {
namespace {

PipelineConfig whole_view(int size) {
  PipelineConfig view;
  view.input_size = size;
  view.crop_ratio = 1;
  return view;
}

size_t count(const PatchRegion& region) { return static_cast<size_t>(std::count(region.begin(), region.end(), true)); }

TEST(ObjectRegion, of_a_box_are_the_patches_whose_centre_it_covers) {
  const PatchRegion region = patches_in_box({0, 0, 31, 63}, {64, 64}, whole_view(64), 8);
  ASSERT_EQ(region.size(), 64U);
  for (size_t p = 0; p < 64; ++p) EXPECT_EQ(region[p], p % 8 < 4) << p;
  EXPECT_EQ(count(patches_in_box({0, 0, 63, 63}, {64, 64}, whole_view(64), 8)), 64U);
  EXPECT_EQ(count(patches_in_box({12, 4, 12, 4}, {64, 64}, whole_view(64), 8)), 1U);
}

TEST(ObjectRegion, of_a_box_follows_resizing_and_cropping) {
  // 128 x 64 becomes 64 x 32, and its middle 32 columns are seen: stored columns 32 to 95.
  EXPECT_EQ(count(patches_in_box({32, 0, 95, 63}, {128, 64}, whole_view(32), 8)), 16U);
  EXPECT_EQ(count(patches_in_box({0, 0, 31, 63}, {128, 64}, whole_view(32), 8)), 0U);
  PipelineConfig cropped = whole_view(32);
  cropped.crop_ratio = 0.5;  // 64 x 64 stays, and its middle half is seen
  EXPECT_EQ(count(patches_in_box({16, 16, 47, 47}, {64, 64}, cropped, 8)), 16U);
}

TEST(ObjectRegion, by_brightness_needs_half_of_a_patch) {
  Image image = make_image(4, 4);
  const auto set = [&](int x, int y, uint8_t grey) { std::fill_n(image.row(y) + 3 * x, 3, grey); };
  set(0, 0, 26), set(1, 0, 255);  // half of the first patch
  set(2, 0, 26), set(3, 0, 25);   // a quarter of the second
  const PatchRegion expected = {true, false, false, false};
  EXPECT_EQ(bright_patches(image, 2), expected);
}

TEST(ObjectRegion, reads_boxes_and_names_the_line_that_is_none) {
  const test::TemporaryDirectory folder;
  test::write_file(folder / "boxes.csv", "index,left,top,right,bottom\r\n7,1,2,3,4\n\n0,0,0,9,9\n");
  const auto boxes = read_boxes(folder / "boxes.csv");
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_EQ(boxes.at(7).right, 3);
  for (const char* bad : {"1,2,3,4", "1,2,3,4,5,6", "-1,0,0,1,1", "1,5,0,4,1", "a,b"}) {
    test::write_file(folder / "bad.csv", std::string("7,1,2,3,4\n") + bad + "\n");
    EXPECT_TRUE(test::mentions(test::error_of([&] { read_boxes(folder / "bad.csv"); }), "line 2")) << bad;
  }
  test::write_file(folder / "empty.csv", "index,left\n");
  EXPECT_TRUE(test::mentions(test::error_of([&] { read_boxes(folder / "empty.csv"); }), "no image"));
}

}  // namespace
}  // namespace fib
