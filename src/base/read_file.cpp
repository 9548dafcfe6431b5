// SPDX-License-Identifier: Apache-2.0
#include "base/read_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace fib {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& reason) {
  throw std::runtime_error("cannot read '" + file.string() + "': " + reason);
}

std::string system_reason() { return std::generic_category().message(errno); }

/// The size, once the descriptor is known to be a regular file.
size_t regular_size(int descriptor, const std::filesystem::path& file) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail(file, system_reason());
  if (S_ISDIR(status.st_mode)) fail(file, "it is a directory");
  if (!S_ISREG(status.st_mode)) fail(file, "it is not a regular file");
  return static_cast<size_t>(status.st_size);
}

/// Closes the descriptor on every way out; the mapping does not need it.
struct Descriptor {
  int value;
  ~Descriptor() { ::close(value); }
};

/// Up to `bytes` more; returns whether the file went on for so long.
bool append(std::string& content, int descriptor, size_t bytes, const std::filesystem::path& file) {
  const size_t wanted = content.size() + bytes;
  while (content.size() < wanted) {
    const size_t before = content.size();
    content.resize(wanted);
    const ssize_t got = ::read(descriptor, content.data() + before, wanted - before);
    content.resize(before + static_cast<size_t>(std::max<ssize_t>(0, got)));
    if (got < 0) fail(file, system_reason());
    if (got == 0) return false;
  }
  return true;
}

}  // namespace

std::string read_file(const std::filesystem::path& file, size_t limit) {
  constexpr size_t kPiece = 1 << 16;
  const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) fail(file, system_reason());
  const Descriptor descriptor{opened};
  std::string content;
  while (append(content, descriptor.value, std::min(kPiece, limit + 1 - content.size()), file))
    if (content.size() > limit)
      fail(file, "it is longer than the " + std::to_string(limit) + " bytes that are accepted");
  return content;
}

MappedFile::MappedFile(const std::filesystem::path& file) {
  // O_NONBLOCK: opening a pipe must not wait for its writer before it is refused.
  const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) fail(file, system_reason());
  const Descriptor descriptor{opened};
  const size_t size = regular_size(descriptor.value, file);
  if (size == 0) return;  // an empty mapping is an error to the system, an empty file is none to us
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.value, 0);
  if (address == MAP_FAILED) fail(file, system_reason());
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace fib
