// SPDX-License-Identifier: Apache-2.0
// Images that stay in their files until they are asked for.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/image_folder.h"
#include "data/open_dataset.h"

namespace fib {

class FolderDataset : public Dataset {
 public:
  /// `boxes` is empty or has one entry per image.
  FolderDataset(DatasetInfo info, std::vector<LabelledImage> images, std::vector<std::optional<ObjectBox>> boxes = {});

  Image image(size_t index) const override { return read_image(files_[index]); }
  std::string item_name(size_t index) const override { return files_[index].string(); }
  std::optional<ObjectBox> box(size_t index) const override;

 private:
  std::vector<std::filesystem::path> files_;
  std::vector<std::optional<ObjectBox>> boxes_;
};

/// train/ and val/ (or test/) with a folder per class; without train/, the folder itself is what is tested on. Labels
/// of both parts are those of train/.
DatasetPtr open_folder_dataset(const DatasetRow& row, const std::filesystem::path& folder, DatasetPart part);

}  // namespace fib
