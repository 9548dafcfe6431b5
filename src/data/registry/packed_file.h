// SPDX-License-Identifier: Apache-2.0
// Files of published datasets, gzipped or not, whole in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fib {

/// `folder/name`, or `folder/name.gz` where only that exists; none where neither does.
std::optional<std::filesystem::path> find_packed(const std::filesystem::path& folder, std::string_view name);

/// Five times Fashion-MNIST: room for every relative of it, and an end for files that unpack for ever.
inline constexpr size_t kMaxUnpacked = size_t{1} << 28;

/// The unpacked content. Throws std::runtime_error for a file that cannot be read, ends too early, or unpacks to more
/// than `most` bytes, which it notices there and not at the file's end.
std::vector<uint8_t> read_packed(const std::filesystem::path& file, size_t most = kMaxUnpacked);
/// The first bytes of it, fewer where it is shorter.
std::vector<uint8_t> read_packed_start(const std::filesystem::path& file, size_t bytes);

/// 32 lower-case hexadecimal digits. Not for secrets, but what published datasets are identified by.
std::string md5_hex(std::span<const std::byte> bytes);

/// Throws std::runtime_error naming both checksums unless the content is the published one.
void check_md5(const std::filesystem::path& file, const std::vector<uint8_t>& content, std::string_view published);

}  // namespace fib
