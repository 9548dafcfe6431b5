// SPDX-License-Identifier: Apache-2.0
// A file's bytes, mapped read-only: pages come from disk when they are touched and cost no memory of ours.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace fib {

class MappedFile {
 public:
  /// Throws std::runtime_error naming the file and the reason; only regular files can be mapped.
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  /// Stays valid, at the same address, as long as this object or the one it was moved to.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace fib
