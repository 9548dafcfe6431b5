// SPDX-License-Identifier: Apache-2.0
// A file that appears under its name complete or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string_view>

namespace fib {

/// Writes to a temporary name beside the target; commit() syncs it and renames it. Without a commit nothing is left
/// behind and an existing target keeps its content. A target that is a symbolic link keeps the link and replaces what
/// it points to. Every failure throws std::runtime_error naming the target and the system's reason; the stream throws
/// too.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  std::ostream& stream();
  void write(const void* data, size_t bytes);

  /// Brings what was written to the disk, still under the temporary name. Whoever commits several files together syncs
  /// all of them first, so that a full disk is noticed before the first one appears.
  void sync();
  void commit();

  const std::filesystem::path& target() const { return target_; }

 private:
  class Buffer;
  std::filesystem::path target_, temporary_;
  std::unique_ptr<Buffer> buffer_;  ///< null once committed
  std::unique_ptr<std::ostream> stream_;
};

/// A file that a library writes by its name: temporary() exists, empty, beside the target. Once the library has closed
/// it, commit() syncs it and renames it; without that nothing is left behind. Errors as those of AtomicFile.
class AtomicName {
 public:
  explicit AtomicName(const std::filesystem::path& target);
  ~AtomicName();
  AtomicName(const AtomicName&) = delete;
  AtomicName& operator=(const AtomicName&) = delete;

  const std::filesystem::path& target() const { return target_; }
  const std::filesystem::path& temporary() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path target_, temporary_;  ///< the latter empty once committed
};

/// Throws as AtomicFile does unless a file can be made at this name; leaves nothing behind. For work whose result comes
/// late: that it cannot be written should be known at once.
void check_writable(const std::filesystem::path& target);

/// The whole file in one call.
void write_file_atomically(const std::filesystem::path& target, std::string_view bytes);

}  // namespace fib
