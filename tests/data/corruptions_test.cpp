// SPDX-License-Identifier: Apache-2.0
// Corruptions measured on images whose answer is known: flat ones, a step, a point.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/rng.h"
#include "data/corruptions/corruption.h"
#include "data/corruptions/filters.h"
#include "data/corruptions/kinds.h"
#include "data/dataset.h"
#include "files.h"

namespace fib::corruptions {
namespace {

constexpr std::array kSigmas = {.04, .06, .08, .09, .10};

Image flat(int side, uint8_t level) {
  Image image = make_image(side, side);
  std::fill(image.pixels.begin(), image.pixels.end(), level);
  return image;
}

/// Black on the left, white on the right half.
Image step(int side) {
  Image image = make_image(side, side);
  for (int y = 0; y < side; ++y) std::fill(image.row(y) + 3 * (side / 2), image.row(y) + 3 * side, uint8_t{255});
  return image;
}

/// A little landscape: smooth colors with edges, as images have.
Image scene(size_t number) {
  Image image = make_image(32, 32);
  CounterRng rng(number);
  const FloatImage hills = plasma(32, 2.0, rng);
  const auto cx = static_cast<int>(rng.below(20)) + 6, cy = static_cast<int>(rng.below(20)) + 6;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      const bool thing = (x - cx) * (x - cx) + (y - cy) * (y - cy) < 36;
      uint8_t* rgb = image.row(y) + 3 * x;
      rgb[0] = static_cast<uint8_t>(thing ? 200 : 60 + 100 * hills.at(y, x));
      rgb[1] = static_cast<uint8_t>(thing ? 80 : 90 + 80 * hills.at(y, x));
      rgb[2] = static_cast<uint8_t>(thing ? 40 : 120 + 60 * hills.at(31 - y, x));
    }
  }
  return image;
}

/// Images of one grey, with these labels.
DatasetPtr flat_dataset(int side, const std::vector<int64_t>& labels) {
  MemoryImages images;
  images.height = images.width = side;
  images.channels = 3;
  images.pixels.assign(labels.size() * static_cast<size_t>(side) * side * 3, 90);
  images.labels = labels;
  images.files = {"flat"};
  images.first_of_file = {0};
  DatasetInfo info;
  info.name = "flat";
  info.classes = 5;
  return std::make_shared<MemoryDataset>(std::move(info), std::move(images));
}

struct Moments {
  double mean = 0, deviation = 0;
};

Moments moments(const std::vector<double>& values) {
  Moments m;
  for (double v : values) m.mean += v / static_cast<double>(values.size());
  for (double v : values) m.deviation += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size());
  m.deviation = std::sqrt(m.deviation);
  return m;
}

Moments moments_of(const FloatImage& image) { return moments(image.values); }

double distance(const Image& a, const Image& b) {
  double sum = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) sum += std::pow(double(a.pixels[i]) - double(b.pixels[i]), 2);
  return std::sqrt(sum);
}

TEST(Corruptions, are_the_nineteen_of_the_published_sets) {
  EXPECT_EQ(names().size(), 19U);
  EXPECT_EQ(std::set<std::string>(names().begin(), names().end()).size(), 19U);
  EXPECT_THROW(index_of("gausian_noise"), std::invalid_argument);
  EXPECT_THROW(corrupted(flat(4, 0), {"fog", 6}, 0), std::invalid_argument);
}

TEST(Corruptions, give_the_same_bytes_for_the_same_seed_and_others_for_another) {
  const Image image = scene(1);
  const std::set<std::string> without_chance = {"gaussian_blur", "defocus_blur", "zoom_blur", "brightness",
                                                "contrast",      "saturate",     "pixelate",  "jpeg_compression"};
  for (const std::string& name : names()) {
    for (int severity = 1; severity <= kSeverities; ++severity) {
      const Image first = corrupted(image, {name, severity, 7}, 3);
      EXPECT_EQ(first.pixels, corrupted(image, {name, severity, 7}, 3).pixels) << name << severity;
      const bool chance = !without_chance.contains(name);
      // Two angles of motion may give the same steps; three seeds do not.
      bool other_seed = false, other_image = false;
      for (size_t i = 1; i <= 3; ++i) {
        other_seed |= first.pixels != corrupted(image, {name, severity, 7 + i}, 3).pixels;
        other_image |= first.pixels != corrupted(image, {name, severity, 7}, 3 + i).pixels;
      }
      EXPECT_EQ(other_seed, chance) << name << severity;
      EXPECT_EQ(other_image, chance) << name << severity;
    }
  }
}

TEST(Corruptions, grow_with_severity_where_their_parameters_do) {
  const std::set<std::string> not_by_definition = {"saturate", "elastic_transform"};
  // From one severity to the next not all parameters of these grow; of motion only a tail of the kernel does, and a
  // coarser grid of pixels may fit a small image better.
  const std::set<std::string> mixed = {"spatter",      "frost",       "snow",    "glass_blur",
                                       "defocus_blur", "motion_blur", "pixelate"};
  for (const std::string& name : names()) {
    if (not_by_definition.contains(name)) continue;
    std::vector<double> mean(kSeverities);
    for (size_t number = 0; number < 24; ++number) {
      const Image image = scene(number);
      for (int s = 0; s < kSeverities; ++s)
        mean[static_cast<size_t>(s)] += distance(image, corrupted(image, {name, s + 1}, number)) / 24;
    }
    EXPECT_GT(mean[0], 0) << name;
    EXPECT_GT(mean[4], mean[0]) << name;
    for (size_t s = 1; s < 5 && !mixed.contains(name); ++s) EXPECT_GT(mean[s], mean[s - 1]) << name << s;
  }
}

TEST(Noise, has_the_stated_strength_on_a_flat_image) {
  const FloatImage grey(128, 128, 3, 0.5);
  CounterRng rng(1);
  for (int s = 0; s < 5; ++s) {
    const auto at = static_cast<size_t>(s);
    EXPECT_NEAR(moments_of(gaussian_noise(grey, s, {rng})).deviation, kSigmas[at], 0.02 * kSigmas[at]);
    constexpr std::array kSpeckle = {.06, .1, .12, .16, .2};
    EXPECT_NEAR(moments_of(speckle_noise(grey, s, {rng})).deviation, 0.5 * kSpeckle[at], 0.01 * kSpeckle[at]);
    constexpr std::array kPhotons = {500, 250, 100, 75, 50};
    const Moments shot = moments_of(shot_noise(grey, s, {rng}));
    EXPECT_NEAR(shot.mean, 0.5, 0.003);
    EXPECT_NEAR(shot.deviation, std::sqrt(0.5 / kPhotons[at]), 0.02 * std::sqrt(0.5 / kPhotons[at]));
  }
}

TEST(Noise, of_impulses_hits_the_stated_share_evenly_black_and_white) {
  const FloatImage grey(256, 256, 3, 0.5);
  constexpr std::array kAmount = {.01, .02, .03, .05, .07};
  CounterRng rng(2);
  for (int s = 0; s < 5; ++s) {
    const FloatImage hit = impulse_noise(grey, s, {rng});
    const auto count = static_cast<double>(hit.values.size());
    const double white = static_cast<double>(std::count(hit.values.begin(), hit.values.end(), 1.0)) / count;
    const double black = static_cast<double>(std::count(hit.values.begin(), hit.values.end(), 0.0)) / count;
    EXPECT_NEAR(white + black, kAmount[static_cast<size_t>(s)], 0.001);
    EXPECT_NEAR(white, black, 0.001);
  }
}

TEST(Noise, leaves_grey_images_grey) {
  const Image image = flat(16, 100);
  for (const char* name : {"gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"}) {
    const Image noisy = corrupted(image, {name, 5}, 0, true);
    for (size_t i = 0; i < noisy.pixels.size(); i += 3) {
      ASSERT_EQ(noisy.pixels[i], noisy.pixels[i + 1]) << name;
      ASSERT_EQ(noisy.pixels[i], noisy.pixels[i + 2]) << name;
    }
    EXPECT_NE(noisy.pixels, image.pixels) << name;
  }
}

TEST(Poisson, has_its_mean_and_variance) {
  for (double mean : {0.0, 0.3, 4.0, 9.9, 10.1, 60.0, 500.0}) {
    CounterRng rng(3);
    std::vector<double> values(40000);
    for (double& v : values) v = poisson(rng, mean);
    EXPECT_NEAR(moments(values).mean, mean, 0.03 * std::sqrt(mean) + 1e-12);
    EXPECT_NEAR(moments(values).deviation, std::sqrt(mean), 0.02 * std::sqrt(mean) + 1e-12);
    for (double v : values) ASSERT_EQ(v, std::floor(v));
  }
}

TEST(Blur, of_a_step_is_the_running_sum_of_the_gaussian) {
  constexpr std::array kSigma = {.4, .6, .7, .8, 1.0};
  const FloatImage edge = to_float(step(32));
  CounterRng rng(0);
  for (int s = 0; s < 5; ++s) {
    const FloatImage blurred = gaussian_blur(edge, s, {rng});
    const double sigma = kSigma[static_cast<size_t>(s)];
    const int radius = static_cast<int>(4 * sigma + 0.5);
    double total = 0;
    for (int k = -radius; k <= radius; ++k) total += std::exp(-0.5 * k * k / (sigma * sigma));
    for (int x = 8; x < 24; ++x) {
      double white = 0;
      for (int k = -radius; k <= radius; ++k) white += x + k >= 16 ? std::exp(-0.5 * k * k / (sigma * sigma)) : 0;
      EXPECT_NEAR(blurred.at(16, x, 1), white / total, 1e-12) << s << " " << x;
    }
  }
}

TEST(Blur, leaves_flat_images_flat) {
  const FloatImage grey(32, 32, 3, 0.6);
  CounterRng rng(4);
  for (Kind blur : {gaussian_blur, defocus_blur, motion_blur, zoom_blur}) {
    for (int s = 0; s < 5; ++s) {
      for (double v : blur(grey, s, {rng}).values) ASSERT_NEAR(v, 0.6, 1e-9);
    }
  }
}

TEST(Blur, out_of_focus_spreads_a_point_over_its_disc) {
  FloatImage point(33, 33, 1);
  point.at(16, 16) = 1;
  const FloatImage sharp = filtered(point, defocus_kernel(.3, .4));
  const double beside = std::exp(-0.5 / .16), sum = 1 + 2 * beside;
  EXPECT_NEAR(sharp.at(16, 16), 1 / (sum * sum), 1e-12) << "a disc of one pixel, smoothed";
  EXPECT_NEAR(sharp.at(16, 17), beside / (sum * sum), 1e-12);
  const FloatImage wide = filtered(point, defocus_kernel(1.5, .1));
  EXPECT_NEAR(wide.at(15, 15), 1.0 / 9, 1e-9) << "nine pixels within 1.5";
  EXPECT_NEAR(wide.at(16, 18), 0, 1e-9);
}

TEST(Blur, of_motion_follows_its_angle_on_one_side) {
  const std::vector<MotionStep> level = motion_steps(6, 2, 0), steep = motion_steps(6, 2, 90);
  ASSERT_EQ(level.size(), 13U);
  double sum = 0;
  for (size_t i = 0; i < 13; ++i) {
    EXPECT_EQ(level[i].dx, static_cast<int>(i));
    EXPECT_EQ(level[i].dy, 0);
    EXPECT_EQ(steep[i].dy, static_cast<int>(i));
    EXPECT_EQ(steep[i].dx, 0);
    EXPECT_NEAR(level[i].weight / level[0].weight, std::exp(-0.5 * double(i * i) / 4), 1e-12);
    sum += level[i].weight;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Blur, behind_glass_takes_pixels_from_next_door) {
  const Image image = scene(5);
  // A deviation of .05 blurs nothing: its kernel is one pixel.
  const Image glass = corrupted(image, {"glass_blur", 1}, 0);
  EXPECT_NE(glass.pixels, image.pixels);
  const auto same = [&](int y, int x, int from_y, int from_x) {
    return std::equal(glass.row(y) + 3 * x, glass.row(y) + 3 * x + 3, image.row(from_y) + 3 * from_x);
  };
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      const bool moved = y > 1 && x > 1;
      EXPECT_TRUE(moved ? same(y, x, y, x) || same(y, x, y - 1, x) || same(y, x, y, x - 1) || same(y, x, y - 1, x - 1)
                        : same(y, x, y, x))
          << y << " " << x;
    }
  }
}

TEST(Borders, continue_as_their_names_say) {
  const auto row = [](Border border) {
    std::vector<int> indices;
    for (int i = -3; i < 6; ++i) indices.push_back(inside(i, 3, border));
    return indices;
  };
  EXPECT_EQ(row(Border::nearest), (std::vector<int>{0, 0, 0, 0, 1, 2, 2, 2, 2}));
  EXPECT_EQ(row(Border::mirror), (std::vector<int>{2, 1, 0, 0, 1, 2, 2, 1, 0}));
  EXPECT_EQ(row(Border::mirror_101), (std::vector<int>{1, 2, 1, 0, 1, 2, 1, 0, 1}));
}

TEST(Color, saturation_is_scaled_and_shifted_exactly) {
  struct Row {
    double factor, more;
  };
  constexpr std::array<Row, 5> kRows = {{{.3, 0}, {.1, 0}, {1.5, 0}, {2, .1}, {2.5, .2}}};
  // V = 0.8 and a hue a third of the way from red to yellow; S = 0.25.
  FloatImage image(1, 1, 3);
  image.values = {0.8, 0.8 * (1 - 0.25 * 2 / 3), 0.8 * (1 - 0.25)};
  CounterRng rng(0);
  for (int s = 0; s < 5; ++s) {
    const auto [factor, more] = kRows[static_cast<size_t>(s)];
    const double saturation = std::min(1.0, 0.25 * factor + more);
    const FloatImage result = saturate(image, s, {rng});
    EXPECT_NEAR(result.at(0, 0, 0), 0.8, 1e-15);
    EXPECT_NEAR(result.at(0, 0, 1), 0.8 * (1 - saturation * 2 / 3), 1e-15);
    EXPECT_NEAR(result.at(0, 0, 2), 0.8 * (1 - saturation), 1e-15);
  }
  // Bytes: clipped, times 255, cut off. S = 0.75 · 1.5 exceeds 1.
  Image bytes = make_image(1, 1);
  bytes.pixels = {200, 100, 50};
  EXPECT_EQ(corrupted(bytes, {"saturate", 3}, 0).pixels, (std::vector<uint8_t>{200, 66, 0}));
}

TEST(Color, brightness_is_added_and_contrast_shrinks_towards_the_mean) {
  EXPECT_EQ(corrupted(flat(4, 51), {"brightness", 2}, 0).pixels[0], static_cast<uint8_t>(255 * (0.2 + 0.1) + 1e-9));
  EXPECT_EQ(corrupted(flat(4, 250), {"brightness", 5}, 0).pixels[0], 255);
  const Image pale = corrupted(step(8), {"contrast", 2}, 0);
  EXPECT_EQ(pale.pixels.front(), static_cast<uint8_t>(0.25 * 255));
  EXPECT_EQ(pale.pixels.back(), static_cast<uint8_t>(0.75 * 255 + 1e-9));
}

TEST(Hsv, is_inverted_exactly_enough_for_bytes) {
  CounterRng rng(6);
  for (int i = 0; i < 2000; ++i) {
    const double rgb[3] = {double(rng.below(256)) / 255, double(rng.below(256)) / 255, double(rng.below(256)) / 255};
    double back[3];
    from_hsv(to_hsv(rgb), back);
    for (int c = 0; c < 3; ++c) ASSERT_NEAR(back[c], rgb[c], 1e-12);
  }
}

TEST(Fog, adds_plasma_of_the_stated_weight) {
  const FloatImage black_and_white = to_float(step(32));
  CounterRng first(9), second(9);
  const FloatImage map = plasma(32, 2.0, first), foggy = fog(black_and_white, 3, {second});
  EXPECT_EQ(*std::min_element(map.values.begin(), map.values.end()), 0);
  EXPECT_EQ(*std::max_element(map.values.begin(), map.values.end()), 1);
  EXPECT_NEAR(foggy.at(4, 4, 0), map.at(4, 4) * 1 / 2, 1e-12) << "weight 1 on black, times 1 / (1 + 1)";
  EXPECT_NEAR(foggy.at(4, 28, 0), (1 + map.at(4, 28)) / 2, 1e-12);
}

TEST(Zoom, enlarges_the_middle) {
  const FloatImage edge = to_float(step(32)), near = zoomed(edge, 1.25);
  EXPECT_EQ(zoomed(edge, 1.0).values, edge.values);
  EXPECT_NEAR(near.at(10, 0, 0), 0, 1e-12);
  EXPECT_NEAR(near.at(10, 31, 0), 1, 1e-12);
  FloatImage ramp(32, 32, 1);
  for (int y = 0; y < 32; ++y)
    for (int x = 0; x < 32; ++x) ramp.at(y, x) = x;
  const FloatImage slower = zoomed(ramp, 1.25);
  EXPECT_NEAR(slower.at(3, 20) - slower.at(3, 19), 25.0 / 31, 0.01) << "26 pixels are stretched over 32";
}

TEST(Pixelate, keeps_flat_images_and_has_fewer_values_in_a_row) {
  EXPECT_EQ(corrupted(flat(32, 77), {"pixelate", 5}, 0).pixels, flat(32, 77).pixels);
  Image stripes = make_image(32, 32);
  for (int x = 0; x < 32; ++x)
    for (int y = 0; y < 32; ++y) std::fill_n(stripes.row(y) + 3 * x, 3, static_cast<uint8_t>(8 * x));
  const Image coarse = corrupted(stripes, {"pixelate", 5}, 0);
  std::set<uint8_t> values;
  for (int x = 0; x < 32; ++x) values.insert(coarse.row(5)[3 * x]);
  EXPECT_LE(values.size(), 20U + 12U);
  EXPECT_GT(distance(coarse, stripes), 0);
}

TEST(CorruptedDataset, has_the_labels_of_the_clean_one_and_other_pixels) {
  const DatasetPtr clean = flat_dataset(8, {4, 2});
  const CorruptedDataset noisy(clean, {"gaussian_noise", 3, 1});
  EXPECT_EQ(noisy.labels(), clean->labels());
  EXPECT_EQ(noisy.image(1).pixels, corrupted(clean->image(1), {"gaussian_noise", 3, 1}, 1).pixels);
  EXPECT_NE(noisy.image(0).pixels, noisy.image(1).pixels) << "each image has its own noise";
  EXPECT_THROW(CorruptedDataset(clean, {"rain", 1}), std::invalid_argument);
}

TEST(PublishedDataset, is_a_fifth_of_its_file) {
  const DatasetPtr clean = flat_dataset(2, {4, 2, 1});
  const test::TemporaryDirectory folder;
  std::vector<uint8_t> pixels(15 * 12);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i / 12);
  const auto file = published_file(folder.path(), "fog");
  write_npy<uint8_t>(file, std::vector<int64_t>{15, 2, 2, 3}, pixels);
  const PublishedDataset third(clean, file, 3);
  EXPECT_EQ(third.labels(), clean->labels());
  EXPECT_EQ(third.image(2).pixels, std::vector<uint8_t>(12, 8));
  EXPECT_EQ(third.item_name(0), file.string() + " image 6");
  write_npy<uint8_t>(file, std::vector<int64_t>{5, 6, 2, 3}, pixels);
  EXPECT_TRUE(test::mentions(test::error_of([&] { PublishedDataset(clean, file, 1); }), "expected (15, "));
}

}  // namespace
}  // namespace fib::corruptions
