// SPDX-License-Identifier: Apache-2.0
// Images as the models see them: 8-bit RGB, upright.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace fib {

struct Image {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> pixels;  ///< [height, width, 3], RGB

  const uint8_t* row(int64_t y) const { return pixels.data() + y * width * 3; }
  uint8_t* row(int64_t y) { return pixels.data() + y * width * 3; }
};

struct ImageSize {
  int64_t width = 0;
  int64_t height = 0;
};

/// An image of this size with all pixels black.
Image make_image(int64_t width, int64_t height);

/// Images with more pixels are refused before they are decoded; Pillow's limit.
inline constexpr int64_t kMaxPixels = 178'956'970;

/// Decodes JPEG, PNG or WebP, recognized by content whatever the name says, to what Pillow's convert("RGB") gives:
/// grey and palette become RGB, alpha is dropped, of 16 bits the upper 8 are kept, CMYK follows Adobe's inverted
/// convention. The EXIF orientation is applied. Throws std::runtime_error with one line naming the file and the defect:
/// truncated, damaged, too large, no image at all. Nothing is ever printed.
Image read_image(const std::filesystem::path& file);
Image decode_image(std::span<const std::byte> bytes, const std::string& name, int64_t max_pixels = kMaxPixels);

/// A JPEG file of this quality, 1 to 100, colors at half the resolution.
std::vector<std::byte> encode_jpeg(const Image& image, int quality);

/// The image as EXIF orientation 1 … 8 wants it shown.
Image oriented(Image image, int orientation);

}  // namespace fib
