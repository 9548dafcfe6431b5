// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <system_error>

#include "base/system.h"

namespace fib {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const fs::path& target, const char* action, int error) {
  throw std::runtime_error(std::string("cannot ") + action + " '" + target.string() +
                           "': " + std::generic_category().message(error));
}

/// The file that a rename may replace: behind a link, and never a device or a directory.
fs::path replaceable(const fs::path& target) {
  if (target.filename().empty()) fail(target, "write", target.empty() ? ENOENT : EISDIR);
  std::error_code error;
  fs::path file = target;
  if (fs::is_symlink(fs::symlink_status(target, error))) file = fs::weakly_canonical(target);
  const fs::file_status status = fs::status(file, error);
  if (fs::is_directory(status)) fail(target, "write", EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw std::runtime_error("cannot write '" + target.string() + "': it exists and is not a regular file");
  return file;
}

fs::path directory_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

/// Short and independent of the target's name, which may already be as long as the file system allows.
fs::path temporary_name() {
  std::random_device random;
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), ".fib-%08x%08x.tmp", static_cast<unsigned>(random()),
                static_cast<unsigned>(random()));
  return name.data();
}

/// Not mkstemp: its mode 0600 would survive the rename, whereas the user's umask should decide.
int make_temporary(const fs::path& target, fs::path& temporary) {
  int descriptor = -1;
  do {
    temporary = directory_of(target) / temporary_name();
    descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor < 0 && (errno == EEXIST || errno == EINTR));
  if (descriptor < 0) fail(target, "write", errno);
  return descriptor;
}

/// The rename itself must survive a power cut. Some file systems cannot sync a directory and say EINVAL.
void sync_directory(const fs::path& target) {
  const int descriptor = ::open(directory_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // a directory we may write into but not read
  const int error = sync_file(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (error != 0 && error != EINVAL && error != ENOTSUP) fail(target, "sync the directory of", error);
}

}  // namespace

/// The stream's end at the file descriptor; owns it.
class AtomicFile::Buffer : public std::streambuf {
 public:
  Buffer(int descriptor, const fs::path& target) : descriptor_(descriptor), target_(target) {
    setp(pending_.data(), pending_.data() + pending_.size());
  }
  ~Buffer() override { ::close(descriptor_); }

  void sync_to_disk() {
    drain();
    if (sync_file(descriptor_) != 0) fail(target_, "write", errno);
  }

 protected:
  int_type overflow(int_type c) override {
    drain();
    return traits_type::eq_int_type(c, traits_type::eof()) ? traits_type::not_eof(c) : sputc(static_cast<char>(c));
  }

  int sync() override {
    drain();
    return 0;
  }

  std::streamsize xsputn(const char* data, std::streamsize bytes) override {
    if (bytes <= epptr() - pptr()) {
      traits_type::copy(pptr(), data, static_cast<size_t>(bytes));
      pbump(static_cast<int>(bytes));
      return bytes;
    }
    drain();
    put(data, static_cast<size_t>(bytes));
    return bytes;
  }

 private:
  void drain() {
    const auto bytes = static_cast<size_t>(pptr() - pbase());
    setp(pending_.data(), pending_.data() + pending_.size());
    put(pending_.data(), bytes);
  }

  void put(const char* data, size_t bytes) {
    while (bytes > 0) {
      const ssize_t written = write_some(descriptor_, data, bytes);
      if (written < 0 && errno != EINTR) fail(target_, "write", errno);
      if (written < 0) continue;
      data += written;
      bytes -= static_cast<size_t>(written);
    }
  }

  int descriptor_;
  fs::path target_;
  std::array<char, 1 << 16> pending_;
};

AtomicFile::AtomicFile(fs::path target) : target_(replaceable(target)) {
  buffer_ = std::make_unique<Buffer>(make_temporary(target_, temporary_), target_);
  stream_ = std::make_unique<std::ostream>(buffer_.get());
  stream_->exceptions(std::ios::badbit | std::ios::failbit);
}

AtomicFile::~AtomicFile() {
  if (buffer_) ::unlink(temporary_.c_str());
}

std::ostream& AtomicFile::stream() {
  if (!buffer_) throw std::logic_error("AtomicFile '" + target_.string() + "' was already committed");
  return *stream_;
}

void AtomicFile::write(const void* data, size_t bytes) {
  stream().write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
}

void AtomicFile::sync() {
  stream();
  buffer_->sync_to_disk();
}

void AtomicFile::commit() {
  sync();
  if (rename_file(temporary_.c_str(), target_.c_str()) != 0) fail(target_, "write", errno);
  stream_.reset();
  buffer_.reset();
  sync_directory(target_);
}

AtomicName::AtomicName(const fs::path& target) : target_(replaceable(target)) {
  ::close(make_temporary(target_, temporary_));
}

AtomicName::~AtomicName() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicName::commit() {
  const int descriptor = ::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(target_, "write", errno);
  const int error = sync_file(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (error != 0) fail(target_, "write", error);
  if (rename_file(temporary_.c_str(), target_.c_str()) != 0) fail(target_, "write", errno);
  temporary_.clear();
  sync_directory(target_);
}

void check_writable(const fs::path& target) { const AtomicFile probe(target); }

void write_file_atomically(const fs::path& target, std::string_view bytes) {
  AtomicFile file(target);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace fib
