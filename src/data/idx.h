// SPDX-License-Identifier: Apache-2.0
// IDX files, as MNIST and Fashion-MNIST come: a magic number, big-endian dimensions, bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/open_dataset.h"

namespace fib {

struct IdxArray {
  std::vector<int64_t> shape;
  std::span<const uint8_t> values;  ///< a part of the bytes that were parsed
};

/// Unsigned bytes of the given rank; `name` is for messages. Throws std::runtime_error with one line.
IdxArray parse_idx(std::span<const uint8_t> file, size_t rank, const std::string& name);

DatasetPtr open_idx(const DatasetRow& row, const std::filesystem::path& folder, DatasetPart part, bool verify);

}  // namespace fib
