// SPDX-License-Identifier: Apache-2.0
// A dataset in MNIST's format that a model can learn, written in milliseconds.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "files.h"

namespace fib::test {

/// MNIST's file format: a magic number and dimensions, big-endian, then bytes.
inline void write_idx(const std::string& file, const std::vector<uint32_t>& shape, const std::string& values) {
  std::string content("\0\0\x08", 3);
  content += static_cast<char>(shape.size());
  for (const uint32_t size : shape)
    for (const int shift : {24, 16, 8, 0}) content += static_cast<char>((size >> shift) & 0xFF);
  write_file(file, content + values);
}

/// Images of ten classes: the label decides which rows are bright, a formula adds something like noise.
inline void write_images(const std::string& prefix, uint32_t count) {
  std::string pixels, labels;
  for (uint32_t i = 0; i < count; ++i) {
    labels += static_cast<char>(i % 10);
    for (uint32_t p = 0; p < 28 * 28; ++p)
      pixels += static_cast<char>((p / 56 == i % 10 ? 150 : 20) + (i * 2654435761U + p * 40503U) % 97);
  }
  write_idx(prefix + "-images-idx3-ubyte", {count, 28, 28}, pixels);
  write_idx(prefix + "-labels-idx1-ubyte", {count}, labels);
}

/// 80 images to train on and 30 to test with, below `folder`.
inline void write_tiny_mnist(const std::filesystem::path& folder) {
  std::filesystem::create_directory(folder);
  write_images((folder / "train").string(), 80);
  write_images((folder / "t10k").string(), 30);
}

}  // namespace fib::test
