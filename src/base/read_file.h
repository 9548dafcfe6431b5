// SPDX-License-Identifier: Apache-2.0
// The two ways to read a file: mapped, where it is large and used in place, or whole and bounded, where it is text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace fib {

/// How much text is read. Recipes and tables are kilobytes; a record of a long run is megabytes.
inline constexpr size_t kMaxRecipeBytes = size_t{1} << 20;
inline constexpr size_t kMaxRecordBytes = size_t{1} << 26;

/// All of a file, at most `limit` bytes. Pipes and devices too: what does not end is refused at the limit. Throws
/// std::runtime_error naming the file and the reason.
std::string read_file(const std::filesystem::path& file, size_t limit);

/// A file's bytes, mapped read-only: pages come from disk when they are touched and cost no memory of ours.
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
