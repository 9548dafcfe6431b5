// SPDX-License-Identifier: Apache-2.0
// What the openers of datasets share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/open_dataset.h"

namespace fib {

/// A registry row's facts as the opened dataset carries them.
DatasetInfo info_of(const DatasetRow& row, const std::filesystem::path& folder);

/// Every `stride`-th byte as a label. Throws std::runtime_error naming the file and the image of the first one that is
/// not below `classes`.
std::vector<int64_t> checked_labels(std::span<const uint8_t> bytes, size_t stride, int64_t classes,
                                    const std::string& file);

}  // namespace fib
