// SPDX-License-Identifier: Apache-2.0
#include "data/folder_dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <string_view>

#include "base/text.h"

namespace fib {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 4> kRead{".jpg", ".jpeg", ".png", ".webp"};
/// Images too, but of kinds that are not read: to find them passed by without a word would surprise.
constexpr std::array<std::string_view, 14> kOtherKinds{".bmp",  ".gif",  ".tif", ".tiff", ".jp2",  ".jxl", ".avif",
                                                       ".heic", ".heif", ".ppm", ".pgm",  ".jfif", ".tga", ".svg"};

[[noreturn]] void fail(const fs::path& folder, const std::string& reason) {
  throw std::runtime_error(fmt::format("image folder '{}': {}", folder.string(), reason));
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

std::string extension_of(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, const std::string& item) {
  return std::ranges::find(list, item) != list.end();
}

bool is_number(const std::string& name) {
  return std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
}

int64_t index_of(const std::string& name, const fs::path& folder) {
  const auto index = parse_number<int64_t>(name);
  if (!index || *index >= kMaxClasses)
    fail(folder, fmt::format("class folder '{}', accepted are numbers up to {}", name, kMaxClasses - 1));
  return *index;
}

/// The folders' names alone: a training set may have a million files.
std::vector<std::string> class_names(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) fail(folder, error.message());
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries)
    if (entry.is_directory() && !is_hidden(entry.path())) names.push_back(entry.path().filename().string());
  if (names.empty()) fail(folder, "it holds no class folders");
  std::ranges::sort(names);
  return names;
}

/// Sorted by number, "2" before "10".
void sort_by_index(std::vector<std::string>& names, const fs::path& folder) {
  const auto name = std::ranges::find_if_not(names, is_number);
  if (name != names.end())
    fail(folder, fmt::format("class folders mix numbers with names such as '{}', accepted are either", *name));
  const auto index = [&](const std::string& text) { return index_of(text, folder); };
  std::ranges::stable_sort(names, {}, index);
  const auto twice = std::ranges::adjacent_find(names, {}, index);
  if (twice != names.end()) fail(folder, fmt::format("'{}' and '{}' are the same class index", *twice, *(twice + 1)));
}

std::string count_text(const std::map<std::string, size_t>& skipped) {
  std::vector<std::string> parts;
  parts.reserve(skipped.size());
  for (const auto& [extension, count] : skipped) parts.push_back(fmt::format("{} {}", count, extension));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<fs::path> images_of(const fs::path& folder, std::map<std::string, size_t>& skipped) try {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || is_hidden(entry.path())) continue;
    const std::string extension = extension_of(entry.path());
    if (contains(kRead, extension)) files.push_back(entry.path());
    if (contains(kOtherKinds, extension)) ++skipped[extension];
  }
  if (files.empty())
    fail(folder, fmt::format("this class has no images (jpg, jpeg, png, webp){}",
                             skipped.empty() ? "" : "; of other kinds there are " + count_text(skipped)));
  std::ranges::sort(files, {}, [](const fs::path& file) { return file.string(); });
  return files;
} catch (const fs::filesystem_error& error) {
  fail(folder, error.code().message());
}

std::vector<int64_t> labels_of(const std::vector<LabeledFile>& images) {
  std::vector<int64_t> labels;
  labels.reserve(images.size());
  for (const LabeledFile& image : images) labels.push_back(image.label);
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

/// Gives a test set the labels of the training set, which may have more classes.
void adopt_training_labels(ImageFolder& tested, const fs::path& train) {
  std::vector<std::string> names = class_names(train);
  if (is_number(names[0])) {
    sort_by_index(names, train);
    tested.num_labels = std::max(tested.num_labels, index_of(names.back(), train) + 1);
    return;
  }
  for (LabeledFile& image : tested.images) {
    const std::string& name = tested.classes[static_cast<size_t>(image.label)];
    const auto found = std::ranges::lower_bound(names, name);
    if (found == names.end() || *found != name)
      throw std::runtime_error(fmt::format("{}: class '{}' is none of the {} classes in {}", image.file.string(), name,
                                           names.size(), train.string()));
    image.label = found - names.begin();
  }
  tested.num_labels = static_cast<int64_t>(names.size());
  tested.classes = names;
}

void check_classes(const DatasetRow& row, const ImageFolder& listed, const fs::path& folder) {
  if (row.classes != 0 && listed.num_labels != row.classes)
    throw std::runtime_error(fmt::format("{0}: {1} classes, {2} has {3}; another set of images is folder:{0}",
                                         folder.string(), listed.num_labels, row.name, row.classes));
}

}  // namespace

ImageFolder list_image_folder(const fs::path& folder) {
  ImageFolder result;
  result.classes = class_names(folder);
  const bool numbered = std::ranges::any_of(result.classes, is_number);
  if (numbered) sort_by_index(result.classes, folder);
  for (size_t i = 0; i < result.classes.size(); ++i) {
    const int64_t label = numbered ? index_of(result.classes[i], folder) : static_cast<int64_t>(i);
    for (fs::path& file : images_of(folder / result.classes[i], result.skipped))
      result.images.push_back({std::move(file), label});
    result.num_labels = label + 1;
  }
  return result;
}

FolderDataset::FolderDataset(DatasetInfo info, std::vector<LabeledFile> images,
                             std::vector<std::optional<ObjectBox>> boxes)
    : Dataset(std::move(info), labels_of(images)), boxes_(std::move(boxes)) {
  files_.reserve(images.size());
  for (LabeledFile& image : images) files_.push_back(std::move(image.file));
}

std::optional<ObjectBox> FolderDataset::box(size_t index) const {
  return boxes_.empty() ? std::nullopt : boxes_[index];
}

DatasetPtr open_image_folder(const DatasetRequest& wanted) {
  const fs::path& folder = wanted.folder;
  const fs::path part = part_folder(folder, wanted.part);
  ImageFolder listed = list_image_folder(part);
  if (wanted.part == DatasetPart::test && fs::is_directory(folder / "train"))
    adopt_training_labels(listed, folder / "train");
  check_classes(wanted.row, listed, folder);
  DatasetInfo info = info_of(wanted.row, folder);
  info.classes = listed.num_labels;
  if (static_cast<int64_t>(listed.classes.size()) == listed.num_labels) info.class_names = std::move(listed.classes);
  if (!listed.skipped.empty())
    info.notices.push_back(
        fmt::format("{}: passed by images of kinds that are not read: {} (read are jpg, jpeg, png, webp)",
                    part.string(), count_text(listed.skipped)));
  return std::make_shared<FolderDataset>(std::move(info), std::move(listed.images));
}

}  // namespace fib
