// SPDX-License-Identifier: Apache-2.0
#include "training/run/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "base/system.h"

namespace fib::training {

namespace {

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  throw std::runtime_error("cannot write '" + file.string() + "': " + std::generic_category().message(error));
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path file, int64_t size) : file_(std::move(file)), size_(size) {
  descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(file_, errno);
  const off_t found = ::lseek(descriptor_, 0, SEEK_END);
  const bool cut = found >= size && ::ftruncate(descriptor_, size) == 0 && ::lseek(descriptor_, size, SEEK_SET) == size;
  if (cut) return;
  const int error = errno;
  ::close(descriptor_);
  if (found >= 0 && found < size)
    throw std::runtime_error("'" + file_.string() + "' has " + std::to_string(found) +
                             " bytes, the checkpoint counts on " + std::to_string(size));
  fail(file_, error);
}

AppendFile::~AppendFile() { ::close(descriptor_); }

void AppendFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write_some(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(file_, errno);
    size_ += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void AppendFile::sync() {
  if (sync_file(descriptor_) != 0) fail(file_, errno);
}

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

RunLog::RunLog(const RunFiles& files, const LogPosition& from)
    : metrics_(files.metrics(), from.metrics), events_(files.events(), from.events) {}

void RunLog::add(const std::string& group, const nlohmann::ordered_json& line) {
  metrics_.append(line.dump() + "\n");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (const auto& [key, value] : line.items())
    if (value.is_number() && key != "step")
      events_.add({.step = line.at("step").get<int64_t>(),
                   .tag = group + "/" + key,
                   .value = value.get<float>(),
                   .wall_time = std::chrono::duration<double>(now).count()});
}

LogPosition RunLog::sync() {
  metrics_.sync();
  events_.sync();
  return {.metrics = metrics_.size(), .events = events_.size()};
}

}  // namespace fib::training
