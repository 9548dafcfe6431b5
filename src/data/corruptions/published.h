// SPDX-License-Identifier: Apache-2.0
// The published CIFAR-10-C and CIFAR-100-C: one .npy file per corruption, the test set five times, by severity.
#pragma once

#include <filesystem>
#include <string>

#include "base/npy.h"
#include "data/dataset.h"

namespace fib::corruptions {

/// FOLDER/NAME.npy.
std::filesystem::path published_file(const std::filesystem::path& folder, const std::string& name);

/// One severity of a published file; labels and order are those of the clean test set.
class PublishedDataset : public Dataset {
 public:
  /// Throws std::runtime_error where the file is not five times the clean set in bytes [5·n, height, width, 3].
  PublishedDataset(const DatasetPtr& clean, const std::filesystem::path& file, int severity);

  Image image(size_t index) const override;
  std::string item_name(size_t index) const override;

 private:
  NpyArray array_;
  std::string file_;
  size_t first_;  ///< image of the severity
};

}  // namespace fib::corruptions
