// SPDX-License-Identifier: Apache-2.0
#include "data/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "data/fixtures.h"
#include "data/golden.h"
#include "data/images/resize.h"
#include "data/transforms/pillow_ops.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;

Image noise(int64_t width, int64_t height) {
  Image image = make_image(width, height);
  CounterRng rng(1);
  for (uint8_t& v : image.pixels) v = static_cast<uint8_t>(rng.below(256));
  return image;
}

std::vector<float> run(const Pipeline& pipeline, const Image& image, uint64_t sample = 0) {
  std::vector<float> out(pipeline.values());
  CounterRng rng(3, {sample});
  pipeline.apply(image, rng, out.data());
  return out;
}

TEST(Pipeline, evaluation_is_the_preprocessing_of_the_weights) {
  DatasetInfo info;
  info.mean = {0.5F, 0.4F, 0.3F};
  info.std = {0.2F, 0.3F, 0.4F};
  const Image image = noise(50, 37);
  const Image center = resize_and_crop(image, {.resize_shorter = 26, .crop = 24});  // floor(24 / 0.9)
  std::vector<float> expected;
  for (size_t c = 0; c < 3; ++c) {
    for (size_t p = 0; p < 24 * 24; ++p)
      expected.push_back((static_cast<float>(center.pixels[3 * p + c]) / 255.0F - info.mean[c]) / info.std[c]);
  }
  EXPECT_EQ(run(Pipeline(evaluation_config(info, 24, 0.9)), image), expected);
}

TEST(Pipeline, normalizes_planes_with_their_own_numbers) {
  const Pipeline pipeline({.input_size = 2, .mean = {0, 0.5F, 1}, .std = {1, 0.5F, 2}, .crop = CropMode::resize});
  const Image image{2, 2, {0, 0, 0, 255, 255, 255, 51, 51, 51, 102, 102, 102}};
  const std::vector<float> expected = {0, 1, 0.2F, 0.4F, -1, 1, -0.6F, -0.2F, -0.5F, 0, -0.4F, -0.3F};
  const auto out = run(pipeline, image);
  for (size_t i = 0; i < 12; ++i) EXPECT_NEAR(out[i], expected[i], 1e-6) << i;
}

TEST(Pipeline, one_channel_is_the_value_of_a_grey_image) {
  const Pipeline pipeline({.input_size = 8, .channels = 1, .mean = {0}, .std = {1}, .crop = CropMode::resize});
  EXPECT_EQ(run(pipeline, test::counting_dataset(200)->image(51)), std::vector<float>(64, 0.2F));
}

TEST(Pipeline, resizes_as_pillow_does) {
  const Pipeline pipeline({.input_size = 28, .crop = CropMode::resize});
  CounterRng rng(1);
  const Image image = noise(32, 32);
  EXPECT_EQ(pipeline.transformed(image, rng).pixels, resize(image, {28, 28}, Filter::bicubic).pixels);
}

TEST(Pipeline, flips_half_of_the_images) {
  const Pipeline pipeline({.input_size = 8, .crop = CropMode::resize, .flip = 0.5});
  const Image image = noise(8, 8);
  int flipped = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    CounterRng rng(5, {i});
    flipped += pipeline.transformed(image, rng).pixels != image.pixels ? 1 : 0;
  }
  EXPECT_NEAR(flipped, 1000, 90);
}

TEST(Pipeline, erases_after_normalization_with_its_probability) {
  const Pipeline pipeline(
      {.input_size = 16, .mean = {0, 0, 0}, .std = {1, 1, 1}, .crop = CropMode::resize, .erasing = 0.25});
  const Image black = make_image(16, 16);
  int erased = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    const auto out = run(pipeline, black, i);
    erased += std::any_of(out.begin(), out.end(), [](float v) { return v != 0; }) ? 1 : 0;
  }
  EXPECT_NEAR(erased, 500, 80);
}

TEST(Pipeline, is_a_function_of_image_and_generator) {
  const Pipeline pipeline({.input_size = 24,
                           .crop = CropMode::random_resized,
                           .flip = 0.5,
                           .rand_augment = "rand-m15-n2-mstd1.0-inc1",
                           .erasing = 0.5});
  std::set<std::vector<float>> results;
  for (uint64_t i = 0; i < 30; ++i) {
    const auto out = run(pipeline, noise(40, 30), i);
    EXPECT_EQ(out, run(pipeline, noise(40, 30), i));
    results.insert(out);
  }
  EXPECT_GE(results.size(), size_t{25});  // posterizing to no bits leaves black, whatever it was
}

TEST(Pipeline, survives_images_of_one_pixel_and_of_extreme_shape) {
  const Pipeline pipeline(
      {.input_size = 8, .crop = CropMode::random_resized, .rand_augment = "rand-m15-n2-mstd1.0-inc1", .erasing = 1});
  for (const auto& [w, h] : {std::pair{1, 1}, {1, 300}, {300, 1}, {2, 3}})
    for (uint64_t i = 0; i < 40; ++i) EXPECT_EQ(run(pipeline, noise(w, h), i).size(), size_t{192});
}

TEST(Pipeline, refuses_values_out_of_range_and_says_what_is_accepted) {
  const auto error = [](const PipelineConfig& config) { return error_of([&] { Pipeline{config}; }); };
  EXPECT_TRUE(mentions(error({.input_size = 0}), "input size 0: accepted is 1 to 16384"));
  EXPECT_TRUE(mentions(error({.channels = 2}), "channels 2: accepted is 1 or 3"));
  EXPECT_TRUE(mentions(error({.channels = 1}), "accepted is one of each per channel"));
  EXPECT_TRUE(mentions(error({.std = {1, 0, 1}}), "standard deviation 0: accepted is above 0"));
  EXPECT_TRUE(mentions(error({.crop_ratio = 1.5}), "crop ratio 1.5: accepted is above 0 to 1"));
  EXPECT_TRUE(mentions(error({.crop_range = {{0.5, 0.1}, {1, 1}}}), "crop scale from 0.5 to 0.1: accepted"));
  EXPECT_TRUE(
      mentions(error({.crop_range = {{0.5, 1}, {1, 1e300}}}), "from 1 to 1e+300: accepted is an ascending pair"));
  EXPECT_TRUE(mentions(error({.flip = -1}), "flip probability -1: accepted is 0 to 1"));
  EXPECT_TRUE(mentions(error({.rand_augment = "trivial"}), "RandAugment 'trivial'"));
}

TEST(ColorJitter, factors_are_uniform_and_orders_all_occur) {
  CounterRng rng(8);
  std::set<std::array<int, 3>> orders;
  double least = 9, most = 0, sum = 0;
  for (int i = 0; i < 3000; ++i) {
    const Jitter jitter = draw_jitter(0.4, rng);
    orders.insert(jitter.order);
    for (double f : jitter.factors) {
      least = std::min(least, f);
      most = std::max(most, f);
      sum += f;
    }
  }
  EXPECT_EQ(orders.size(), size_t{6});
  EXPECT_GE(least, 0.6);
  EXPECT_LE(most, 1.4);
  EXPECT_LT(least, 0.61);
  EXPECT_GT(most, 1.39);
  EXPECT_NEAR(sum / 9000, 1, 0.01);
  EXPECT_GE(draw_jitter(3, rng).factors[0], 0);
}

TEST(ColorJitter, applies_brightness_contrast_and_saturation_in_its_order) {
  Image expected = test::golden_image("waves-8x8"), image = expected;
  apply_jitter(image, {{0.7, 1.2, 0.5}, {2, 0, 1}});
  enhance_color(expected, 0.5);
  enhance_brightness(expected, 0.7);
  enhance_contrast(expected, 1.2);
  EXPECT_EQ(image.pixels, expected.pixels);
}

}  // namespace
}  // namespace fib
