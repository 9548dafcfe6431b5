// SPDX-License-Identifier: Apache-2.0
// Files in which small images are published: IDX, and the binary version of the CIFARs. dataset_table.h declares what
// opens them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace fib {

// ---- IDX, as MNIST and Fashion-MNIST come: a magic number, big-endian dimensions, bytes

struct IdxArray {
  std::vector<int64_t> shape;
  std::span<const uint8_t> values;  ///< a part of the bytes that were parsed
};

/// How long the file is that begins so: an array of unsigned bytes of the given rank. `name` is for messages. Throws
/// std::runtime_error with one line.
size_t idx_file_size(std::span<const uint8_t> start, size_t rank, const std::string& name);
/// The whole file.
IdxArray parse_idx(std::span<const uint8_t> file, size_t rank, const std::string& name);

// ---- CIFAR-10: records of label bytes and 32 × 32 pixels, one color plane after the other

/// CIFAR-10's published files, made again out of a lossless copy: PNGs (a row per image, a column per pixel) named
/// data_batch_1.png to data_batch_5.png and test_batch.png, and JSON lists of labels, train_lables.json and
/// test_lables.json. What does not come out with the published checksum is not written. Returns the names of the files.
std::vector<std::string> rebuild_cifar10(const std::filesystem::path& pngs, const std::filesystem::path& out);

}  // namespace fib
