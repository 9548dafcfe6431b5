// SPDX-License-Identifier: Apache-2.0
// The binary version of CIFAR-10 and CIFAR-100: records of label bytes and 32 × 32 pixels, one colour plane after the
// other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/open_dataset.h"

namespace fib {

constexpr int kCifarSide = 32;
constexpr size_t kCifarPixels = size_t{kCifarSide} * kCifarSide;
constexpr size_t kCifarBatch = 10000;  ///< images in a file of CIFAR-10

DatasetPtr open_cifar10(const DatasetRow& row, const std::filesystem::path& folder, DatasetPart part, bool verify);
/// The fine labels; names come from fine_label_names.txt where it lies beside the data.
DatasetPtr open_cifar100(const DatasetRow& row, const std::filesystem::path& folder, DatasetPart part, bool verify);

}  // namespace fib
