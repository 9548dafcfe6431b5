// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace fib::paper {

struct TableFile {
  std::string_view name, text;
};

/// The .toml files of this folder; CMake makes the list.
std::vector<TableFile> table_files();

}  // namespace fib::paper
