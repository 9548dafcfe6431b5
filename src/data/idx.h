// SPDX-License-Identifier: Apache-2.0
// IDX files, as MNIST and Fashion-MNIST come: a magic number, big-endian dimensions, bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fib {

struct IdxArray {
  std::vector<int64_t> shape;
  std::span<const uint8_t> values;  ///< a part of the bytes that were parsed
};

/// How long the file is that begins so: an array of unsigned bytes of the given rank. `name` is for messages. Throws
/// std::runtime_error with one line.
size_t idx_file_size(std::span<const uint8_t> start, size_t rank, const std::string& name);
/// The whole file.
IdxArray parse_idx(std::span<const uint8_t> file, size_t rank, const std::string& name);

}  // namespace fib
