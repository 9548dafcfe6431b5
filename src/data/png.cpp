// SPDX-License-Identifier: Apache-2.0
#include "data/png.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/printable.h"
#include "data/exif.h"
#include "data/image_error.h"

namespace fib {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr size_t kHeaderLength = 13;  // IHDR: width, height, bit depth, colour type, compression, filter, interlace

uint32_t big_endian(std::span<const std::byte> bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(bytes[i]);
  return value;
}

struct Chunk {
  std::string_view type;
  std::span<const std::byte> data;
  std::span<const std::byte> whole;  ///< length, type, data and checksum
};

Chunk next_chunk(std::span<const std::byte> rest, const std::string& name) {
  if (rest.size() < 12) refuse_image(name, "truncated PNG");
  const size_t length = big_endian(rest);
  if (length > rest.size() - 12) refuse_image(name, "truncated PNG");
  const auto checked = rest.subspan(4, 4 + length);
  const std::string_view type(reinterpret_cast<const char*>(checked.data()), 4);
  return {type, checked.subspan(4), rest.first(12 + length)};
}

void check_sum(const Chunk& chunk, const std::string& name) {
  const auto checked = chunk.whole.subspan(4, 4 + chunk.data.size());
  const auto sum = ::crc32_z(0, reinterpret_cast<const unsigned char*>(checked.data()), checked.size());
  if (sum != big_endian(chunk.whole.last(4)))
    refuse_image(name, "damaged PNG, wrong checksum in " + in_quotes(chunk.type));
}

void check_header(const Chunk& chunk, const std::string& name) {
  if (chunk.type != "IHDR" || chunk.data.size() != kHeaderLength) refuse_image(name, "damaged PNG, it has no header");
  check_image_size(big_endian(chunk.data), big_endian(chunk.data.subspan(4)), name);
}

/// A capital first letter marks what a decoder must understand; all others are commentary.
bool is_needed(const Chunk& chunk, const std::string& name) {
  constexpr std::array<std::string_view, 4> kNeeded{"IHDR", "PLTE", "IDAT", "IEND"};
  if (std::ranges::find(kNeeded, chunk.type) != kNeeded.end()) return true;
  if (chunk.type[0] >= 'A' && chunk.type[0] <= 'Z')
    refuse_image(name, "PNG of an unknown kind, with " + in_quotes(chunk.type));
  return false;
}

void append(std::string& target, std::span<const std::byte> bytes) {
  target.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

bool is_png(std::span<const std::byte> file) {
  return file.size() >= kSignature.size() &&
         std::ranges::equal(file.first(kSignature.size()), std::as_bytes(std::span(kSignature)));
}

EssentialPng essential_png(std::span<const std::byte> file, const std::string& name) {
  EssentialPng result;
  append(result.bytes, file.first(kSignature.size()));
  auto rest = file.subspan(kSignature.size());
  check_header(next_chunk(rest, name), name);
  for (bool ended = false; !ended;) {
    const Chunk chunk = next_chunk(rest, name);
    check_sum(chunk, name);
    rest = rest.subspan(chunk.whole.size());
    if (is_needed(chunk, name)) append(result.bytes, chunk.whole);
    if (chunk.type == "eXIf") result.orientation = exif_orientation(chunk.data);
    ended = chunk.type == "IEND";
  }
  return result;
}

}  // namespace fib
