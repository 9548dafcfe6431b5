// SPDX-License-Identifier: Apache-2.0
#include "data/webp_size.h"

#include <string_view>

namespace fib {
namespace {

constexpr size_t kShortest = 32;  // OpenCV prints about shorter ones

/// Unsigned little-endian; the caller has checked the length.
int64_t little_endian(std::string_view file, size_t begin, size_t bytes) {
  int64_t value = 0;
  for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(file[begin + i]);
  return value;
}

}  // namespace

/// Lossy, extended and lossless files each keep the size elsewhere.
std::optional<WebpSize> webp_size(std::span<const std::byte> bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (file.size() < kShortest || !file.starts_with("RIFF") || file.substr(8, 4) != "WEBP") return std::nullopt;
  const std::string_view kind = file.substr(12, 4);
  if (kind == "VP8 ") return WebpSize{little_endian(file, 26, 2) & 0x3fff, little_endian(file, 28, 2) & 0x3fff};
  if (kind == "VP8X") return WebpSize{little_endian(file, 24, 3) + 1, little_endian(file, 27, 3) + 1};
  if (kind != "VP8L") return std::nullopt;
  const int64_t bits = little_endian(file, 21, 4);
  return WebpSize{(bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1};
}

}  // namespace fib
