// SPDX-License-Identifier: Apache-2.0
// A file that only grows, and that a resumed run cuts back to where its checkpoint was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace fib::training {

/// Errors are std::runtime_error with the file's name and the system's reason.
class AppendFile {
 public:
  /// Keeps the first `size` bytes of an existing file. Throws also where it has fewer: what a checkpoint counted on is
  /// gone.
  AppendFile(std::filesystem::path file, int64_t size);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view bytes);
  /// Brings all that was appended to the disk.
  void sync();
  int64_t size() const { return size_; }

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace fib::training
