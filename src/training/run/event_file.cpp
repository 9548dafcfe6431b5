// SPDX-License-Identifier: Apache-2.0
#include "training/run/event_file.h"

#include <array>
#include <bit>
#include <chrono>

namespace fib::training {
namespace {

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    table[byte] = crc;
  }
  return table;
}

template <class Unsigned>
std::string little_endian(Unsigned value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(Unsigned); ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xFF);
  return bytes;
}

/// A CRC of data that itself holds CRCs is weak, so the format stores a rotated one with an offset.
std::string masked_crc(std::string_view bytes) { return little_endian(std::rotr(crc32c(bytes), 15) + 0xA282EAD8U); }

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}

/// Protobuf's wire types.
enum class Wire : uint32_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string field(uint32_t number, Wire wire) { return varint((number << 3) | static_cast<uint32_t>(wire)); }

std::string bytes_field(uint32_t number, std::string_view content) {
  return field(number, Wire::bytes) + varint(content.size()) + std::string(content);
}

std::string wall_time_field(double seconds) {
  return field(1, Wire::fixed64) + little_endian(std::bit_cast<uint64_t>(seconds));
}

/// Event { wall_time = 1, file_version = 3 }
std::string version_event() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return wall_time_field(std::chrono::duration<double>(now).count()) + bytes_field(3, "brain.Event:2");
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  uint32_t crc = ~0U;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~crc;
}

std::string tfrecord(std::string_view data) {
  const std::string length = little_endian(static_cast<uint64_t>(data.size()));
  return length + masked_crc(length) + std::string(data) + masked_crc(data);
}

/// Event { wall_time = 1, step = 2, summary = 5 }, Summary { value = 1 }, Value { tag = 1, simple_value = 2 }
std::string scalar_event(const Scalar& scalar) {
  const std::string value =
      bytes_field(1, scalar.tag) + field(2, Wire::fixed32) + little_endian(std::bit_cast<uint32_t>(scalar.value));
  return wall_time_field(scalar.wall_time) + field(2, Wire::varint) + varint(static_cast<uint64_t>(scalar.step)) +
         bytes_field(5, bytes_field(1, value));
}

EventFile::EventFile(const std::filesystem::path& file, int64_t size) : file_(file, size) {
  if (size == 0) file_.append(tfrecord(version_event()));
}

}  // namespace fib::training
