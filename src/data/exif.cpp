// SPDX-License-Identifier: Apache-2.0
#include "data/exif.h"

#include <cstdint>

namespace fib {
namespace {

constexpr int kUpright = 1;
constexpr uint32_t kOrientationTag = 0x0112, kTypeShort = 3;

/// Integers of either byte order; everything past the end reads as 0, which no field accepts.
class TiffReader {
 public:
  explicit TiffReader(std::span<const std::byte> bytes) : bytes_(bytes) {
    little_ = at(0) == 'I' && at(1) == 'I';
    valid_ = (little_ || (at(0) == 'M' && at(1) == 'M')) && u16(2) == 42;
  }
  bool valid() const { return valid_; }
  uint32_t u16(size_t i) const { return little_ ? at(i) | at(i + 1) << 8 : at(i) << 8 | at(i + 1); }
  uint32_t u32(size_t i) const { return little_ ? u16(i) | u16(i + 2) << 16 : u16(i) << 16 | u16(i + 2); }
  size_t size() const { return bytes_.size(); }

 private:
  uint32_t at(size_t i) const { return i < bytes_.size() ? std::to_integer<uint32_t>(bytes_[i]) : 0; }

  std::span<const std::byte> bytes_;
  bool little_ = false, valid_ = false;
};

}  // namespace

int exif_orientation(std::span<const std::byte> tiff) {
  const TiffReader reader(tiff);
  if (!reader.valid()) return kUpright;
  const size_t directory = reader.u32(4);
  const uint32_t entries = reader.u16(directory);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * 12;
    if (entry + 12 > reader.size()) break;
    if (reader.u16(entry) != kOrientationTag || reader.u16(entry + 2) != kTypeShort) continue;
    const uint32_t value = reader.u16(entry + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : kUpright;
  }
  return kUpright;
}

}  // namespace fib
