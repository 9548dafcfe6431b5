// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "report/drawing.h"

namespace fib::report {
namespace {

struct Palette {
  std::string entries;  ///< red, green, blue of each color
  std::string indices;  ///< one byte per pixel
};

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<uint32_t>(data.size())) + body + big_endian(static_cast<uint32_t>(crc));
}

/// Images of a few colors and their blends fit 256, and are then a third of the size.
std::optional<Palette> find_palette(std::span<const uint8_t> rgb) {
  std::map<uint32_t, char> known;
  Palette palette;
  palette.indices.reserve(rgb.size() / 3);
  for (size_t i = 0; i < rgb.size(); i += 3) {
    const uint32_t color = static_cast<uint32_t>(rgb[i] << 16 | rgb[i + 1] << 8 | rgb[i + 2]);
    const auto [entry, added] = known.try_emplace(color, static_cast<char>(known.size()));
    if (added && known.size() > 256) return std::nullopt;
    if (added) palette.entries.append(reinterpret_cast<const char*>(&rgb[i]), 3);
    palette.indices.push_back(entry->second);
  }
  return palette;
}

/// Each row is preceded by its filter; none, since lines and dots leave nothing to predict.
std::string deflate_rows(std::span<const char> pixels, size_t row_bytes) {
  std::string raw;
  raw.reserve(pixels.size() + pixels.size() / row_bytes);
  for (size_t i = 0; i < pixels.size(); i += row_bytes) {
    raw.push_back('\0');
    raw.append(pixels.data() + i, row_bytes);
  }
  uLongf size = compressBound(raw.size());
  std::string packed(size, '\0');
  const int error = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                              reinterpret_cast<const Bytef*>(raw.data()), raw.size(), Z_BEST_COMPRESSION);
  if (error != Z_OK) throw std::runtime_error("cannot compress an image of " + std::to_string(raw.size()) + " bytes");
  packed.resize(size);
  return packed;
}

}  // namespace

std::string encode_png(std::span<const uint8_t> rgb, uint32_t width, uint32_t height) {
  constexpr char kDirect = 2, kIndexed = 3;
  const auto palette = find_palette(rgb);
  const std::string format = {8, palette ? kIndexed : kDirect, 0, 0, 0};  // 8 bits; the rest is what PNG always has
  std::string png = "\x89PNG\r\n\x1a\n" + chunk("IHDR", big_endian(width) + big_endian(height) + format);
  if (palette) {
    png += chunk("PLTE", palette->entries) + chunk("IDAT", deflate_rows(palette->indices, width));
  } else {
    const std::span<const char> bytes(reinterpret_cast<const char*>(rgb.data()), rgb.size());
    png += chunk("IDAT", deflate_rows(bytes, size_t{3} * width));
  }
  return png + chunk("IEND", "");
}

}  // namespace fib::report
