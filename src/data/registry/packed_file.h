// SPDX-License-Identifier: Apache-2.0
// Files of published datasets, gzipped or not, whole in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace fib {

/// `folder/name`, or `folder/name.gz` where only that exists; none where neither does.
std::optional<std::filesystem::path> find_packed(const std::filesystem::path& folder, std::string_view name);

/// Twenty times Fashion-MNIST: room for every relative of it, and an end for files that unpack for ever.
inline constexpr size_t kMaxUnpacked = size_t{1} << 30;

/// The unpacked content. Throws std::runtime_error for a file that cannot be read, ends too early, or unpacks to more
/// than kMaxUnpacked bytes.
std::vector<uint8_t> read_packed(const std::filesystem::path& file);

/// Throws std::runtime_error naming both checksums unless the content is the published one.
void check_md5(const std::filesystem::path& file, const std::vector<uint8_t>& content, std::string_view published);

}  // namespace fib
