// SPDX-License-Identifier: Apache-2.0
#include "data/folder_dataset.h"

#include <algorithm>
#include <stdexcept>

#include "data/row_info.h"

namespace fib {
namespace fs = std::filesystem;
namespace {

std::vector<int64_t> labels_of(const std::vector<LabelledImage>& images) {
  std::vector<int64_t> labels;
  labels.reserve(images.size());
  for (const LabelledImage& image : images) labels.push_back(image.label);
  return labels;
}

fs::path part_folder(const fs::path& folder, DatasetPart part) {
  const bool has_train = fs::is_directory(folder / "train");
  if (part == DatasetPart::train) {
    if (!has_train)
      throw std::runtime_error(folder.string() + ": no folder train/ in it, so it can only be evaluated on");
    return folder / "train";
  }
  for (const char* name : {"val", "test"})
    if (fs::is_directory(folder / name)) return folder / name;
  if (has_train) throw std::runtime_error(folder.string() + ": a folder train/ but neither val/ nor test/ beside it");
  return folder;
}

/// Listing folders alone: the training set may have a million files, and only its class names are wanted.
std::vector<std::string> folder_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && !name.starts_with('.')) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

bool numbered(const std::string& name) { return name.find_first_not_of("0123456789") == std::string::npos; }

/// Gives a test set the labels of the training set, which may have more classes.
void adopt_training_labels(ImageFolder& tested, const fs::path& train) {
  const std::vector<std::string> names = folder_names(train);
  if (names.empty()) return;
  if (numbered(names[0])) {
    for (const std::string& name : names)
      tested.num_labels = std::max<int64_t>(tested.num_labels, std::stoll(name) + 1);
    return;
  }
  for (LabelledImage& image : tested.images) {
    const std::string& name = tested.classes[static_cast<size_t>(image.label)];
    const auto found = std::ranges::lower_bound(names, name);
    if (found == names.end() || *found != name)
      throw std::runtime_error(image.file.string() + ": class '" + name + "' is none of the " +
                               std::to_string(names.size()) + " classes in " + train.string());
    image.label = found - names.begin();
  }
  tested.num_labels = static_cast<int64_t>(names.size());
  tested.classes = names;
}

void check_classes(const DatasetRow& row, const ImageFolder& listed, const fs::path& folder) {
  if (row.classes != 0 && listed.num_labels != row.classes)
    throw std::runtime_error(folder.string() + ": " + std::to_string(listed.num_labels) + " classes, " +
                             std::string(row.name) + " has " + std::to_string(row.classes) +
                             "; another set of images is folder:" + folder.string());
}

}  // namespace

FolderDataset::FolderDataset(DatasetInfo info, std::vector<LabelledImage> images,
                             std::vector<std::optional<ObjectBox>> boxes)
    : Dataset(std::move(info), labels_of(images)), boxes_(std::move(boxes)) {
  files_.reserve(images.size());
  for (LabelledImage& image : images) files_.push_back(std::move(image.file));
}

std::optional<ObjectBox> FolderDataset::box(size_t index) const {
  return boxes_.empty() ? std::nullopt : boxes_[index];
}

DatasetPtr open_folder_dataset(const DatasetRow& row, const fs::path& folder, DatasetPart part) {
  ImageFolder listed = list_image_folder(part_folder(folder, part));
  if (part == DatasetPart::test && fs::is_directory(folder / "train")) adopt_training_labels(listed, folder / "train");
  check_classes(row, listed, folder);
  DatasetInfo info = info_of(row, folder);
  info.classes = listed.num_labels;
  if (static_cast<int64_t>(listed.classes.size()) == listed.num_labels) info.class_names = std::move(listed.classes);
  return std::make_shared<FolderDataset>(std::move(info), std::move(listed.images));
}

}  // namespace fib
