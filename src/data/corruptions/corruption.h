// SPDX-License-Identifier: Apache-2.0
// CIFAR-10-C and CIFAR-100-C, made from clean images: nineteen corruptions at five severities, with the parameters of
// the published sets. Random numbers are ours, and so is the frost, whose photographs are not free to copy; motion blur
// follows ImageMagick's kernel without the program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/npy.h"
#include "data/dataset.h"

namespace fib::corruptions {

inline constexpr int kSeverities = 5;

/// The names of the published files, noises first.
const std::vector<std::string>& names();
/// Throws std::invalid_argument with the nearest name and the list for an unknown one.
size_t index_of(std::string_view name);

struct Corruption {
  std::string name;
  int severity = 1;   ///< 1 to 5
  uint64_t seed = 0;  ///< same seed, same bytes
};

/// `number` is the image's in its dataset: each has its own random numbers. Channels of a grey image stay equal where
/// noise is drawn. Throws std::invalid_argument for a severity that is none.
Image corrupted(const Image& image, const Corruption& corruption, size_t number, bool grey = false);

/// A dataset whose images are corrupted as they are asked for.
class CorruptedDataset : public Dataset {
 public:
  CorruptedDataset(DatasetPtr clean, Corruption corruption);

  Image image(size_t index) const override;
  std::string item_name(size_t index) const override { return clean_->item_name(index); }

 private:
  DatasetPtr clean_;
  Corruption corruption_;
};

// ---- The published sets: one .npy file per corruption, the test set five times, by severity

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
