// SPDX-License-Identifier: Apache-2.0
#include "training/run/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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

}  // namespace fib::training
