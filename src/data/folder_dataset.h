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

/// Which files are looked for, by extension.
struct FileKinds {
  std::string what;                 ///< "images"
  std::vector<std::string> read;    ///< ".jpg", in lower case
  std::vector<std::string> unread;  ///< of the same sort, but not read: to pass them by without a word would surprise
};
const FileKinds& image_files();
const FileKinds& clip_files();

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
ImageFolder list_image_folder(const std::filesystem::path& folder, const FileKinds& kinds = image_files());

/// Of train/, or of val/ or test/ with the labels of train/; without train/, the folder itself is what is tested on.
ImageFolder list_image_part(const std::filesystem::path& folder, DatasetPart part,
                            const FileKinds& kinds = image_files());

/// All files of these kinds below a folder, by path.
std::vector<std::filesystem::path> find_files(const std::filesystem::path& folder, const FileKinds& kinds,
                                              std::map<std::string, size_t>& skipped);

/// The option of a dataset, "0.2" of "?test=0.2", or what it is without one.
std::string option_or(const DatasetRequest& wanted, const char* key, const std::string& otherwise);
[[noreturn]] void refuse_option(const DatasetRequest& wanted, const char* key, const std::string& value,
                                const std::string& accepted);

/// Of files without splits: the share ?test= of each class is held out to test on, by ?seed=.
std::vector<LabeledFile> seeded_part(const DatasetRequest& wanted, std::vector<LabeledFile> files, int64_t classes);

std::vector<int64_t> labels_of(const std::vector<LabeledFile>& files);

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
