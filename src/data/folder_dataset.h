// SPDX-License-Identifier: Apache-2.0
// Folders of class folders of images, which stay in their files until they are asked for. dataset_table.h declares what
// opens them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fib {

struct LabeledFile {
  std::filesystem::path file;
  int64_t label = 0;
};

struct ImageFolder {
  std::vector<std::string> classes;       ///< the folders' names, by ascending label
  std::vector<LabeledFile> images;        ///< by label, then by path: the same on every machine
  int64_t num_labels = 0;                 ///< the largest label plus one
  std::map<std::string, size_t> skipped;  ///< how many images of kinds that are not read, by extension
};

/// More classes than any published dataset has; a folder called 999999999 must not cost a table of that length.
inline constexpr int64_t kMaxClasses = 100'000;

/// A class folder whose name is all digits is that class index; otherwise names are sorted and numbered from 0. Images
/// are found by their extension (jpg, jpeg, png, webp, in any case), in folders within folders too; hidden files are
/// passed by, and so are others, of which images of other kinds are counted. Throws std::runtime_error with one line:
/// no such folder, no class folders, numbers mixed with names, one number twice or above kMaxClasses, a class without
/// images.
ImageFolder list_image_folder(const std::filesystem::path& folder);

class FolderDataset : public Dataset {
 public:
  /// `boxes` is empty or has one entry per image.
  FolderDataset(DatasetInfo info, std::vector<LabeledFile> images, std::vector<std::optional<ObjectBox>> boxes = {});

  Image image(size_t index) const override { return read_image(files_[index]); }
  std::string item_name(size_t index) const override { return files_[index].string(); }
  std::optional<ObjectBox> box(size_t index) const override;

 private:
  std::vector<std::filesystem::path> files_;
  std::vector<std::optional<ObjectBox>> boxes_;
};

}  // namespace fib
