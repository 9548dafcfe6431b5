// SPDX-License-Identifier: Apache-2.0
#include "data/registry/packed_file.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "base/md5.h"

namespace fib {
namespace {

struct CloseGzip {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

GzipFile open_packed(const std::filesystem::path& file) {
  // zlib opens a directory and fails later with a stranger message.
  if (std::filesystem::is_directory(file)) throw std::runtime_error(file.string() + ": is a folder, expected a file");
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

}  // namespace

std::optional<std::filesystem::path> find_packed(const std::filesystem::path& folder, std::string_view name) {
  const std::filesystem::path plain = folder / name, zipped = folder / (std::string(name) + ".gz");
  std::error_code unreadable;
  if (std::filesystem::exists(plain, unreadable)) return plain;
  if (std::filesystem::exists(zipped, unreadable)) return zipped;
  return std::nullopt;
}

std::vector<uint8_t> read_packed(const std::filesystem::path& file) {
  const GzipFile opened = open_packed(file);
  std::vector<uint8_t> content;
  constexpr size_t kChunk = 1 << 22;
  while (true) {
    const size_t before = content.size();
    content.resize(before + kChunk);
    const int got = gzread(opened.get(), content.data() + before, kChunk);
    content.resize(before + static_cast<size_t>(got > 0 ? got : 0));
    if (content.size() > kMaxUnpacked)
      throw std::runtime_error(file.string() + ": more than " + std::to_string(kMaxUnpacked) +
                               " bytes of content, which no file of this kind has");
    if (got < static_cast<int>(kChunk)) break;
  }
  int code = Z_OK;
  gzerror(opened.get(), &code);
  if (code != Z_OK && code != Z_STREAM_END) throw std::runtime_error(file.string() + ": " + reason(opened.get()));
  return content;
}

void check_md5(const std::filesystem::path& file, const std::vector<uint8_t>& content, std::string_view published) {
  const std::string found = md5_hex(std::as_bytes(std::span(content)));
  if (found != published)
    throw std::runtime_error(file.string() + ": the checksum is " + found + ", the published file has " +
                             std::string(published));
}

}  // namespace fib
