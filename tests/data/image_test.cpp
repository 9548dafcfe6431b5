// SPDX-License-Identifier: Apache-2.0
#include "data/images/image.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "data/golden.h"
#include "data/images/decoders.h"
#include "files.h"

namespace fib {
namespace {

using test::error_of;
using test::from_hex;
using test::golden;
using test::mentions;
using test::noise_image;
using test::read_file;
using test::TemporaryDirectory;
using test::write_file;

std::string fixture(const std::string& name) { return std::string(FIB_TEST_DATA) + "/images/" + name; }

Image decode(const std::string& content) { return decode_image(std::as_bytes(std::span(content)), "x.jpg"); }

/// The message, which must be one line and the only thing said.
std::string refusal(const std::string& content) {
  testing::internal::CaptureStderr();
  const std::string message = error_of([&] { decode(content); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

int largest_difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  int largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(Image, decodes_every_kind_of_picture_as_pillow_does) {
  const auto images = golden("image_golden.json");
  ASSERT_GE(images.size(), 19u);
  for (const auto& [name, expected] : images.items()) {
    SCOPED_TRACE(name);
    testing::internal::CaptureStderr();
    const Image image = read_image(fixture(name));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(image.width, expected["width"]);
    EXPECT_EQ(image.height, expected["height"]);
    const auto pixels = from_hex(expected["rgb"]);
    ASSERT_EQ(image.pixels.size(), pixels.size());
    EXPECT_LE(largest_difference(image.pixels, pixels), 1);
  }
}

TEST(Image, is_recognized_by_content_whatever_its_name) {
  TemporaryDirectory dir;
  write_file(dir / "a.JPEG", read_file(fixture("rgb.png")));
  EXPECT_EQ(read_image(dir / "a.JPEG").pixels, read_image(fixture("rgb.png")).pixels);
}

TEST(Image, refuses_every_truncation_of_a_jpeg_in_one_line) {
  for (const char* name : {"rgb.jpg", "progressive.jpg", "grey.jpg", "cmyk.jpg"}) {
    const std::string whole = read_file(fixture(name));
    for (size_t length = 0; length < whole.size(); ++length)
      EXPECT_TRUE(mentions(refusal(whole.substr(0, length)), "cannot read image 'x.jpg': ")) << name << " " << length;
    EXPECT_TRUE(mentions(refusal(whole.substr(0, whole.size() - 2)), "truncated JPEG"));
    EXPECT_TRUE(mentions(refusal(whole.substr(0, whole.size() - 60)), "truncated JPEG"));
  }
}

TEST(Image, refuses_every_truncation_of_other_pictures_in_one_line) {
  for (const char* name : {"rgb.png", "palette.png", "lossless.webp", "lossy.webp"}) {
    const std::string whole = read_file(fixture(name));
    for (size_t length = 0; length < whole.size(); ++length)
      EXPECT_NE(refusal(whole.substr(0, length)), "") << name << " " << length;
  }
  const std::string png = read_file(fixture("rgb.png"));
  EXPECT_TRUE(mentions(refusal(png.substr(0, png.size() - 13)), "truncated PNG"));
}

TEST(Image, refuses_a_damaged_png_by_its_checksum) {
  std::string png = read_file(fixture("rgb.png"));
  png[60] = static_cast<char>(png[60] ^ 1);
  EXPECT_TRUE(mentions(refusal(png), "damaged PNG"));
  std::string comment = read_file(fixture("bad_profile.png"));
  const size_t profile = comment.find("iCCP");
  ASSERT_NE(profile, std::string::npos);
  comment[profile + 6] = static_cast<char>(comment[profile + 6] ^ 1);
  EXPECT_TRUE(mentions(refusal(comment), "damaged PNG, wrong checksum in 'iCCP'"));
}

TEST(Image, survives_damage_anywhere_without_a_word) {
  for (const char* name : {"rgb.jpg", "progressive.jpg", "cmyk.jpg", "exif6.jpg", "lossy.webp", "lossless.webp",
                           "palette.png", "exif8.png", "grey16.png"}) {
    const std::string whole = read_file(fixture(name));
    testing::internal::CaptureStderr();
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x5a);
      error_of([&] { decode(damaged); });
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << name;
  }
}

/// The start of frame says height and width in its bytes 5 to 8.
std::string jpeg_of_size(unsigned height, unsigned width) {
  std::string jpeg = read_file(fixture("rgb.jpg"));
  const size_t frame = jpeg.find("\xff\xc0");
  const std::array<unsigned, 4> bytes{height >> 8, height & 255, width >> 8, width & 255};
  for (size_t i = 0; i < 4; ++i) jpeg[frame + 5 + i] = static_cast<char>(bytes[i]);
  return jpeg;
}

TEST(Image, refuses_sizes_that_are_too_large_before_decoding) {
  EXPECT_TRUE(
      mentions(refusal(jpeg_of_size(20000, 20000)), "20000×20000 pixels are too many, accepted are up to 178956970"));
  EXPECT_TRUE(mentions(refusal(jpeg_of_size(13, 0)), "cannot read image"));
  std::string webp = read_file(fixture("lossy.webp"));
  webp.replace(26, 4, "\xff\x3f\xff\x3f");
  EXPECT_TRUE(mentions(refusal(webp), "16383×16383 pixels are too many"));
}

TEST(Image, refuses_a_huge_png_header) {
  std::string png = read_file(fixture("rgb.png"));
  png.replace(16, 8, std::string("\0\0\x4e\x20\0\0\x4e\x20", 8));
  EXPECT_TRUE(mentions(refusal(png), "damaged PNG, wrong checksum in 'IHDR'"));
  png.replace(29, 4, "\x6c\x12\xd1\x6e");
  EXPECT_TRUE(mentions(refusal(png), "20000×20000 pixels are too many"));
}

TEST(Image, refuses_what_is_no_image) {
  EXPECT_TRUE(mentions(refusal("this is a text file named .jpg\n"), "'x.jpg': not a JPEG, PNG or WebP image"));
  EXPECT_TRUE(mentions(refusal(""), "the file is empty"));
  EXPECT_TRUE(mentions(refusal("\xff\xd8\xff"), "JPEG"));
  EXPECT_TRUE(mentions(refusal("BM and more: a bitmap"), "not a JPEG"));
  TemporaryDirectory dir;
  EXPECT_TRUE(mentions(error_of([&] { read_image(dir.path()); }), "is a directory"));
  EXPECT_TRUE(mentions(error_of([&] { read_image(dir / "none.jpg"); }), "No such file"));
}

TEST(Image, is_turned_as_each_exif_orientation_says) {
  Image image = make_image(3, 2);  // 0 1 2 / 3 4 5
  for (size_t i = 0; i < 6; ++i)
    std::fill_n(image.pixels.begin() + static_cast<ptrdiff_t>(3 * i), 3, static_cast<uint8_t>(i));
  const std::array<std::vector<int>, 9> expected{{{},
                                                  {0, 1, 2, 3, 4, 5},
                                                  {2, 1, 0, 5, 4, 3},
                                                  {5, 4, 3, 2, 1, 0},
                                                  {3, 4, 5, 0, 1, 2},
                                                  {0, 3, 1, 4, 2, 5},
                                                  {3, 0, 4, 1, 5, 2},
                                                  {5, 2, 4, 1, 3, 0},
                                                  {2, 5, 1, 4, 0, 3}}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image turned = oriented(image, orientation);
    EXPECT_EQ(turned.width, orientation < 5 ? 3 : 2);
    std::vector<int> first_channel;
    for (size_t i = 0; i < 6; ++i) first_channel.push_back(turned.pixels[3 * i]);
    EXPECT_EQ(first_channel, expected[static_cast<size_t>(orientation)]) << orientation;
  }
}

std::string little_endian(size_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 255);
  return bytes;
}

/// lossless.webp in the extended form, with a chunk of metadata.
std::string webp_with(const std::string& flag, const std::string& name, const std::string& content) {
  const std::string simple = read_file(fixture("lossless.webp")), image = simple.substr(12);
  const Image size = decode(simple);
  const auto side = [](int64_t pixels) { return little_endian(static_cast<size_t>(pixels - 1)).substr(0, 3); };
  const std::string header =
      "VP8X" + little_endian(10) + flag + std::string(3, '\0') + side(size.width) + side(size.height);
  const std::string body = "WEBP" + header + image + name + little_endian(content.size()) + content;
  return "RIFF" + little_endian(body.size()) + body;
}

TEST(Image, a_webp_is_turned_as_its_exif_says) {
  const std::string exif("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0", 22);
  const Image upright = read_image(fixture("lossless.webp"));
  EXPECT_EQ(decode(webp_with("\x08", "EXIF", exif)).pixels, oriented(upright, 6).pixels);
}

TEST(Exif, damage_means_upright) {
  const auto orientation = [](const std::string& tiff) { return exif_orientation(std::as_bytes(std::span(tiff))); };
  const std::string good("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0", 22);
  EXPECT_EQ(orientation(good), 6);
  for (size_t length = 0; length < good.size(); ++length) EXPECT_EQ(orientation(good.substr(0, length)), 1) << length;
  std::string nine = good, far = good;
  nine[18] = 9;
  far.replace(4, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(orientation(nine), 1);
  EXPECT_EQ(orientation(far), 1);
}

}  // namespace
}  // namespace fib
