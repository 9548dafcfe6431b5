// SPDX-License-Identifier: Apache-2.0
// Small datasets: every pixel in memory, as bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace fib {

/// Pixels of all images one after the other, each height × width × channels, and where each came from. Grey images take
/// one channel here and become RGB when they are asked for.
struct MemoryImages {
  int height = 0, width = 0, channels = 0;
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
  std::vector<std::string> files;     ///< read in this order
  std::vector<size_t> first_of_file;  ///< the number of each file's first image
};

class MemoryDataset : public Dataset {
 public:
  MemoryDataset(DatasetInfo info, MemoryImages images);

  Image image(size_t index) const override;
  std::string item_name(size_t index) const override;

 private:
  MemoryImages images_;
};

}  // namespace fib
