// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fib {

/// Class names by index from a JSON file: ["tench", …], {"0": "tench", …} or ImageNet's {"0": ["n01440764", "tench"],
/// …}; keys may be padded, "000". Throws std::runtime_error with one line unless the indices are 0 … n-1.
std::vector<std::string> read_labels(const std::filesystem::path& file);

}  // namespace fib
