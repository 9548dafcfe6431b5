// SPDX-License-Identifier: Apache-2.0
// Images are decoded again and looked at pixel by pixel.
#include "report/drawing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "data/images/image.h"
#include "report/font.h"
#include "report/pattern_drawing.h"

namespace fib::report {
namespace {

constexpr MaskColors kColors{.ground = {255, 255, 255},
                             .offsets = {0, 0, 0},
                             .cls = {255, 128, 0},
                             .random = {255, 0, 0},
                             .neighbors = {0, 128, 0},
                             .summaries = {128, 0, 128}};

cv::Mat decode(const std::string& png) {
  Image image = decode_image(std::as_bytes(std::span(png)), "drawn");
  const cv::Mat rgb(static_cast<int>(image.height), static_cast<int>(image.width), CV_8UC3, image.pixels.data());
  cv::Mat bgr;
  cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
  return bgr;
}

SupportSet make(const std::string& text, PatternGeometry g = {}) { return make_support(AttentionSpec::parse(text), g); }

cv::Mat panel_image(const SupportSet& s, int64_t head, double room) {
  const MaskPanel panel = MaskPanel::fitting(s, room);
  Drawing drawing{panel.width, panel.side, {}};
  for (Fill& f : draw_mask(s, head, panel, {0, 0}, kColors)) drawing.items.emplace_back(std::move(f));
  return decode(to_png(drawing));
}

double darkness(const cv::Mat& image, cv::Rect where) {
  const cv::Scalar mean = cv::mean(image(where));
  return 1.0 - (mean[0] + mean[1] + mean[2]) / 765.0;
}

/// Whether some pair lies within one token of (q, k): the edge of its line may be seen here.
bool near_a_pair(const SupportSet& s, int64_t head, int64_t q, int64_t k) {
  for (int64_t dq = -1; dq <= 1; ++dq) {
    for (int64_t dk = -1; dk <= 1; ++dk) {
      if (s.contains(head, {static_cast<int32_t>(q + dq), static_cast<int32_t>(k + dk)})) return true;
    }
  }
  return false;
}

/// Every pair is inked, and everything that is not next to one is ground.
void expect_mask(const SupportSet& s, int64_t head, double room) {
  const cv::Mat image = panel_image(s, head, room);
  const int cell = image.cols / static_cast<int>(s.query_tokens());
  ASSERT_GE(cell, 1);
  for (int q = 0; q < s.query_tokens(); ++q) {
    for (int k = 0; k < s.key_tokens(); ++k) {
      const double dark = darkness(image, {k * cell, q * cell, cell, cell});
      if (s.contains(head, {q, k})) {
        ASSERT_GT(dark, 0.3) << q << " " << k;
      } else if (!near_a_pair(s, head, q, k)) {
        ASSERT_NEAR(dark, 0.0, 1e-9) << q << " " << k;
      }
    }
  }
}

TEST(Letters, are_those_of_a_font_also_beyond_ascii) {
  const Font* const font = Font::find(false);
  if (font == nullptr) GTEST_SKIP() << "fonts-dejavu-core is not installed";
  const Lettering wide = font->set("W", 40), narrow = font->set("i", 40), greek = font->set("φ", 40);
  EXPECT_GT(wide.width, 2 * narrow.width) << "not a typewriter";
  EXPECT_NE(greek.coverage, font->set("?", 40).coverage);
  EXPECT_GT(font->set("…", 40).width, 30) << "one letter, three dots";
  EXPECT_EQ(font->set("×µ", 40).width, font->set("×", 40).width + font->set("µ", 40).width);
  EXPECT_EQ(std::count(wide.coverage.begin(), wide.coverage.begin() + wide.width, 0), wide.width) << "room above";
}

TEST(Letters, stand_in_images_where_the_drawing_says) {
  Drawing drawing{200, 40, {}};
  drawing.items.emplace_back(Text{{100, 30}, "HHHH", 20, false, {0, 0, 0}, Align::middle});
  const cv::Mat image = decode(to_png(drawing));
  EXPECT_GT(darkness(image, {75, 16, 50, 14}), 0.2);
  EXPECT_NEAR(darkness(image, {0, 0, 60, 40}), 0, 1e-9);
  EXPECT_NEAR(darkness(image, {0, 32, 200, 8}), 0, 1e-9) << "nothing below the baseline";
}

}  // namespace

TEST(Png, keeps_every_pixel_with_few_and_with_many_colors) {
  for (int colors : {2, 256, 257, 5000}) {
    constexpr uint32_t width = 91, height = 67;
    std::vector<uint8_t> rgb;
    for (uint32_t i = 0; i < width * height; ++i) {
      const uint32_t c = i % static_cast<uint32_t>(colors);
      rgb.insert(rgb.end(), {static_cast<uint8_t>(c), static_cast<uint8_t>(c >> 8), static_cast<uint8_t>(c * 7)});
    }
    const cv::Mat image = decode(encode_png(rgb, width, height));
    ASSERT_EQ(image.cols, static_cast<int>(width));
    ASSERT_EQ(image.rows, static_cast<int>(height));
    for (size_t i = 0; i < rgb.size(); ++i) ASSERT_EQ(image.data[i / 3 * 3 + 2 - i % 3], rgb[i]) << colors << " " << i;
  }
}

TEST(MaskPanel, shows_exactly_the_pairs_of_a_small_set) {
  for (const char* text : {"fibottention", "bigbird", "random", "full", "sparse-transformer"}) {
    for (bool causal : {false, true}) {
      const SupportSet s = make(text, {.patches = 40, .cls = 2, .heads = 2, .causal = causal});
      expect_mask(s, 1, 400);
    }
  }
}

TEST(MaskPanel, shows_every_pair_of_196_tokens) {
  expect_mask(make("fibottention"), 0, 400);
  expect_mask(make("fibottention"), 11, 400);
  expect_mask(make("fibottention-modified"), 3, 400);
  expect_mask(make("bigbird"), 0, 400);
  expect_mask(make("local:w=20,diagonal=true", {.causal = true}), 0, 400);
}

TEST(MaskPanel, shows_every_neighbor_on_the_grid) {
  expect_mask(make("random:ratio=1,grid=3"), 0, 400);
  expect_mask(make("fibottention:wmin=5,wmax=65,grid=5", {.patches = 140, .grid = PatchGrid{10, 14}}), 2, 400);
  expect_mask(make("local:w=2,grid=3", {.patches = 60, .causal = true, .grid = PatchGrid{5, 4, 3}}), 0, 400);
  expect_mask(make("local:w=1,grid=3", {.patches = 49, .cls = 2}), 0, 400);
}

TEST(MaskPanel, shows_summaries_as_columns_beside_the_tokens) {
  const SupportSet s = make("local:summaries=4x4");
  const MaskPanel panel = MaskPanel::fitting(s, 430);
  EXPECT_EQ(panel.side, 197 * panel.cell);
  const cv::Mat image = panel_image(s, 0, 430);
  EXPECT_EQ(image.at<cv::Vec3b>(image.rows / 2, image.cols - 2), cv::Vec3b(128, 0, 128));
  EXPECT_EQ(image.at<cv::Vec3b>(0, image.cols - 2), cv::Vec3b(255, 255, 255)) << "a class token sees no summary";
}

TEST(MaskPanel, loses_no_diagonal_of_4096_tokens) {
  const SupportSet s = make("fibottention", {.patches = 4096, .cls = 1});
  for (int64_t h : {0, 5, 11}) {
    const cv::Mat image = panel_image(s, h, 400);
    EXPECT_EQ(image.cols, 400);
    const double cell = 400.0 / 4097.0;
    for (int64_t o : s.head(h).offsets) {
      for (int x = 380; x >= 30; x -= 50) {  // along the diagonal above the main one
        const int y = static_cast<int>(x - static_cast<double>(o) * cell);
        if (y < 3) continue;
        EXPECT_GT(darkness(image, {x - 1, y - 1, 3, 3}), 0.25) << "head " << h << " offset " << o;
      }
    }
  }
}

TEST(MaskPanel, shades_lines_too_close_to_be_told_apart) {
  const SupportSet s = make("sparse-transformer:stride=10", {.patches = 1000, .heads = 2});
  const cv::Mat image = panel_image(s, 1, 200);
  EXPECT_NEAR(darkness(image, {50, 50, 100, 100}), 0.3, 0.02);
}

TEST(PatternDrawing, is_small_whatever_the_number_of_tokens) {
  for (int64_t n : {196, 4096, 1048576}) {
    const Drawing d = draw_pattern("fibottention", make("fibottention", {.patches = n}));
    EXPECT_LT(to_svg(d).size(), 30000u) << n;
    EXPECT_LT(to_png(d).size(), 400000u) << n;
  }
  EXPECT_LT(to_svg(draw_pattern("bigbird", make("bigbird", {.patches = 4096}))).size(), 500000u);
}

TEST(PatternDrawing, says_window_and_offsets_under_each_head) {
  const std::string svg = to_svg(draw_pattern("fibottention", make("fibottention")));
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_NE(svg.find(">head 12, w = 65<"), std::string::npos);
  EXPECT_NE(svg.find(">offsets 30 49<"), std::string::npos);
  EXPECT_NE(svg.find(">fibottention, 196 tokens + 1 class token, 12 heads<"), std::string::npos);
  EXPECT_NE(svg.find("9,192 pairs, 98.01 % pruned"), std::string::npos);
}

TEST(PatternDrawing, keeps_texts_inside_and_apart) {
  for (int64_t heads : {1, 2, 3, 5, 7, 12, 16, 24, 64, 300}) {
    for (int64_t n : {1, 3, 50, 196, 1000}) {
      const SupportSet s = make("powers-of-2", {.patches = n, .cls = 1, .heads = heads});
      const Drawing d = draw_pattern("powers-of-2", s);
      std::vector<const Text*> texts;
      for (const auto& item : d.items) {
        if (const Text* t = std::get_if<Text>(&item)) texts.push_back(t);
      }
      for (const Text* t : texts) {
        EXPECT_LE(t->at.x + text_width(t->line.size(), t->size), d.width) << t->line;
        EXPECT_LE(t->at.y + 0.3 * t->size, d.height) << t->line;
        for (const Text* u : texts) {
          const bool beside = u->at.x >= t->at.x + text_width(t->line.size(), t->size) || u->at.x < t->at.x;
          const bool apart = std::abs(u->at.y - t->at.y) >= 0.95 * t->size;
          ASSERT_TRUE(u == t || beside || apart) << t->line << " / " << u->line;
        }
      }
    }
  }
}

TEST(Svg, escapes_what_has_a_meaning_in_it) {
  const Drawing d{10, 10, {Text{{1, 2}, "a<b & c>d", 12, false, {0, 0, 0}}}};
  EXPECT_NE(to_svg(d).find(">a&lt;b &amp; c&gt;d</text>"), std::string::npos);
}

TEST(Png, refuses_a_picture_beyond_a_hundred_million_pixels) {
  EXPECT_THROW(to_png(Drawing{20000, 20000, {}}), std::invalid_argument);
}

}  // namespace fib::report
