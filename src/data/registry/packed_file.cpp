// SPDX-License-Identifier: Apache-2.0
#include "data/registry/packed_file.h"

#include <fmt/format.h>
#include <md5.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace fib {
namespace {

struct CloseGzip {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

GzipFile open_packed(const std::filesystem::path& file) {
  // zlib opens a directory and fails later with a stranger message.
  if (std::filesystem::is_directory(file)) throw std::runtime_error(file.string() + ": is a folder, expected a file");
  if (std::filesystem::exists(file) && !std::filesystem::is_regular_file(file))  // a pipe would be waited for
    throw std::runtime_error(file.string() + ": is not a regular file");
  errno = 0;
  GzipFile opened(gzopen(file.c_str(), "rb"));
  if (!opened) throw std::runtime_error(file.string() + ": cannot be opened: " + std::strerror(errno));
  gzbuffer(opened.get(), 1 << 18);
  return opened;
}

std::string reason(gzFile file) {
  int code = 0;
  const char* message = gzerror(file, &code);
  return code == Z_BUF_ERROR ? "the compressed file ends too early" : message;
}

/// Up to `bytes` more; returns how many there were.
size_t append(std::vector<uint8_t>& content, gzFile file, size_t bytes) {
  const size_t before = content.size();
  content.resize(before + bytes);
  const int got = std::max(0, gzread(file, content.data() + before, static_cast<unsigned>(bytes)));
  content.resize(before + static_cast<size_t>(got));
  return static_cast<size_t>(got);
}

void check_end(gzFile opened, const std::filesystem::path& file) {
  int code = Z_OK;
  gzerror(opened, &code);
  if (code != Z_OK && code != Z_STREAM_END) throw std::runtime_error(file.string() + ": " + reason(opened));
}

}  // namespace

std::optional<std::filesystem::path> find_packed(const std::filesystem::path& folder, std::string_view name) {
  const std::filesystem::path plain = folder / name, zipped = folder / (std::string(name) + ".gz");
  std::error_code unreadable;
  if (std::filesystem::exists(plain, unreadable)) return plain;
  if (std::filesystem::exists(zipped, unreadable)) return zipped;
  return std::nullopt;
}

std::vector<uint8_t> read_packed_start(const std::filesystem::path& file, size_t bytes) {
  const GzipFile opened = open_packed(file);
  std::vector<uint8_t> content;
  append(content, opened.get(), bytes);
  check_end(opened.get(), file);
  return content;
}

std::vector<uint8_t> read_packed(const std::filesystem::path& file, size_t most) {
  const GzipFile opened = open_packed(file);
  std::vector<uint8_t> content;
  constexpr size_t kChunk = 1 << 20;
  while (append(content, opened.get(), kChunk) == kChunk && content.size() <= most) {
  }
  if (content.size() > most)
    throw std::runtime_error(
        fmt::format("{}: it goes on after {} bytes, which is all there should be", file.string(), most));
  check_end(opened.get(), file);
  return content;
}

std::string md5_hex(std::span<const std::byte> bytes) {
  MD5_CTX context;
  MD5Init(&context);
  MD5Update(&context, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  std::array<char, MD5_DIGEST_STRING_LENGTH> digits{};
  return MD5End(&context, digits.data());
}

void check_md5(const std::filesystem::path& file, const std::vector<uint8_t>& content, std::string_view published) {
  const std::string found = md5_hex(std::as_bytes(std::span(content)));
  if (found != published)
    throw std::runtime_error(
        fmt::format("{}: the checksum is {}, the published file has {}", file.string(), found, published));
}

}  // namespace fib
