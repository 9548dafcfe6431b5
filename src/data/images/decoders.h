// SPDX-License-Identifier: Apache-2.0
// What stands behind decode_image: one function per format, each over the format's own library and behind our limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/images/image.h"

namespace fib {

/// An encoded image, and what messages call it.
struct EncodedImage {
  std::span<const std::byte> bytes;
  const std::string& name;
  int64_t max_pixels;

  bool starts_with(std::string_view magic) const;
  [[noreturn]] void refuse(const std::string& reason) const;
  /// Throws unless both sides are positive and their product is at most max_pixels.
  void check_size(int64_t width, int64_t height) const;
};

bool is_jpeg(const EncodedImage& file);
Image decode_jpeg(const EncodedImage& file);

bool is_png(const EncodedImage& file);
Image decode_png(const EncodedImage& file);

bool is_webp(const EncodedImage& file);
Image decode_webp(const EncodedImage& file);

inline constexpr int kUpright = 1;
/// The orientation, 1 … 8, from EXIF data (a TIFF header and its directories). Upright where there is none or the data
/// is damaged: broken metadata must not cost a sound image.
int exif_orientation(std::span<const std::byte> tiff);

}  // namespace fib
