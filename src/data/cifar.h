// SPDX-License-Identifier: Apache-2.0
// The binary version of CIFAR-10 and CIFAR-100: records of label bytes and 32 × 32 pixels, one color plane after the
// other. dataset_table.h declares what opens it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fib {

/// CIFAR-10's published files, made again out of a lossless copy: PNGs (a row per image, a column per pixel) named
/// data_batch_1.png to data_batch_5.png and test_batch.png, and JSON lists of labels, train_lables.json and
/// test_lables.json. What does not come out with the published checksum is not written. Returns the names of the files.
std::vector<std::string> rebuild_cifar10(const std::filesystem::path& pngs, const std::filesystem::path& out);

}  // namespace fib
