// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace fib {
namespace {

/// mkstemp makes files that only their owner reads; these are to have the rights of any other new file. The mask can
/// only be read by setting it.
mode_t usual_rights() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/// A rename is durable once its directory is. Some file systems cannot sync directories: then it is as good as it gets.
void sync_directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const int directory = open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  fsync(directory);
  close(directory);
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".XXXXXX") {
  struct stat existing {};
  if (stat(path_.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {
    throw std::runtime_error("cannot write '" + path_ + "': it exists and is not a regular file");
  }
  descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail("write");
  fchmod(descriptor_, usual_rights());
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::fail(const char* what) const {
  throw std::runtime_error(std::string("cannot ") + what + " '" + path_ + "': " + std::strerror(errno));
}

void AtomicFile::discard() {
  if (descriptor_ < 0) return;
  close(std::exchange(descriptor_, -1));
  unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void AtomicFile::commit() {
  if (fsync(descriptor_) != 0) fail("sync");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename to");
  close(std::exchange(descriptor_, -1));
  sync_directory_of(path_);
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace fib
