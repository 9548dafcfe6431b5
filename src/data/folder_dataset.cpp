// SPDX-License-Identifier: Apache-2.0
#include "data/folder_dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "base/text.h"
#include "data/open_dataset.h"

namespace fib {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const fs::path& folder, const std::string& reason) {
  throw std::runtime_error(fmt::format("image folder '{}': {}", folder.string(), reason));
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

std::string extension_of(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::ranges::find(list, item) != list.end();
}

/// "jpg, jpeg, png, webp"
std::string endings(const FileKinds& kinds) {
  std::vector<std::string> names;
  names.reserve(kinds.read.size());
  for (const std::string& extension : kinds.read) names.push_back(extension.substr(1));
  return joined(names);
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

fs::path part_folder(const fs::path& folder, DatasetPart part) {
  const bool has_train = fs::is_directory(folder / "train");
  if (part == DatasetPart::train) return has_train ? folder / "train" : folder;
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

const FileKinds& image_files() {
  static const FileKinds kinds{"images",
                               {".jpg", ".jpeg", ".png", ".webp"},
                               {".bmp", ".gif", ".tif", ".tiff", ".jp2", ".jxl", ".avif", ".heic", ".heif", ".ppm",
                                ".pgm", ".jfif", ".tga", ".svg"}};
  return kinds;
}

const FileKinds& clip_files() {
  static const FileKinds kinds{
      "videos", {".mp4", ".avi", ".mkv", ".mov", ".webm", ".m4v", ".mpg", ".mpeg", ".wmv", ".flv", ".ts"}, {}};
  return kinds;
}

std::vector<fs::path> find_files(const fs::path& folder, const FileKinds& kinds,
                                 std::map<std::string, size_t>& skipped) try {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || is_hidden(entry.path())) continue;
    const std::string extension = extension_of(entry.path());
    if (contains(kinds.read, extension)) files.push_back(entry.path());
    if (contains(kinds.unread, extension)) ++skipped[extension];
  }
  std::ranges::sort(files, {}, [](const fs::path& file) { return file.string(); });
  return files;
} catch (const fs::filesystem_error& error) {
  fail(folder, error.code().message());
}

std::vector<int64_t> labels_of(const std::vector<LabeledFile>& files) {
  std::vector<int64_t> labels;
  labels.reserve(files.size());
  for (const LabeledFile& file : files) labels.push_back(file.label);
  return labels;
}

ImageFolder list_image_folder(const fs::path& folder, const FileKinds& kinds) {
  ImageFolder result;
  result.classes = class_names(folder);
  const bool numbered = std::ranges::any_of(result.classes, is_number);
  if (numbered) sort_by_index(result.classes, folder);
  for (size_t i = 0; i < result.classes.size(); ++i) {
    const int64_t label = numbered ? index_of(result.classes[i], folder) : static_cast<int64_t>(i);
    std::vector<fs::path> files = find_files(folder / result.classes[i], kinds, result.skipped);
    if (files.empty())
      fail(folder / result.classes[i],
           fmt::format("this class has no {} ({}){}", kinds.what, endings(kinds),
                       result.skipped.empty() ? "" : "; of other kinds there are " + count_text(result.skipped)));
    for (fs::path& file : files) result.images.push_back({std::move(file), label});
    result.num_labels = label + 1;
  }
  return result;
}

ImageFolder list_image_part(const fs::path& folder, DatasetPart part, const FileKinds& kinds) {
  ImageFolder listed = list_image_folder(part_folder(folder, part), kinds);
  if (part == DatasetPart::test && fs::is_directory(folder / "train")) adopt_training_labels(listed, folder / "train");
  return listed;
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

std::string option_or(const DatasetRequest& wanted, const char* key, const std::string& otherwise) {
  const auto found = wanted.options.find(key);
  return found != wanted.options.end() ? found->second : otherwise;
}

void refuse_option(const DatasetRequest& wanted, const char* key, const std::string& value,
                   const std::string& accepted) {
  throw std::invalid_argument(
      fmt::format("{}: {}={}: accepted is {}", wanted.row.name, key, printable(value, kLongestQuote), accepted));
}

std::vector<LabeledFile> seeded_part(const DatasetRequest& wanted, std::vector<LabeledFile> files, int64_t classes) {
  const std::string share = option_or(wanted, "test", kTestShare), seed = option_or(wanted, "seed", kSplitSeed);
  const auto fraction = parse_number<double>(share);
  if (!fraction || !(*fraction > 0 && *fraction < 1)) refuse_option(wanted, "test", share, "above 0, below 1");
  const auto number = parse_number<uint64_t>(seed);
  if (!number) refuse_option(wanted, "seed", seed, "a whole number from 0");
  const TrainingSplit split =
      split_training_set(labels_of(files), classes, {.validation_fraction = *fraction, .seed = *number});
  std::vector<LabeledFile> part;
  for (size_t i : wanted.part == DatasetPart::train ? split.train : split.validation)
    part.push_back(std::move(files[i]));
  return part;
}

namespace {

/// Whether a share of each class is held out, and a line about it for those who train on the rest.
bool divides(const DatasetRequest& wanted) {
  const bool has_parts = fs::is_directory(wanted.folder / "train");
  if (has_parts && !wanted.options.empty())
    throw std::invalid_argument(fmt::format("{}: it has a folder train/; ?test= and ?seed= divide class folders alone",
                                            wanted.folder.string()));
  return wanted.row.divided_on_demand && !has_parts && (wanted.part == DatasetPart::train || !wanted.options.empty());
}

std::string division_text(const DatasetRequest& wanted, size_t whole, size_t part) {
  return fmt::format("{}: no train/ in it, so {} of {} images are held out to test on, a share of each class ({})",
                     wanted.folder.string(), whole - part, whole, split_options_text(wanted.options));
}

}  // namespace

DatasetPtr open_image_folder(const DatasetRequest& wanted) {
  const fs::path& folder = wanted.folder;
  const bool divided = divides(wanted);
  ImageFolder listed = list_image_part(folder, wanted.part);
  check_classes(wanted.row, listed, folder);
  DatasetInfo info = info_of(wanted.row, folder);
  info.classes = listed.num_labels;
  if (static_cast<int64_t>(listed.classes.size()) == listed.num_labels) info.class_names = std::move(listed.classes);
  if (!listed.skipped.empty())
    info.notices.push_back(
        fmt::format("{}: passed by images of kinds that are not read: {} (read are jpg, jpeg, png, webp)",
                    part_folder(folder, wanted.part).string(), count_text(listed.skipped)));
  if (divided) {
    const size_t whole = listed.images.size();
    listed.images = seeded_part(wanted, std::move(listed.images), listed.num_labels);
    if (listed.images.empty())
      throw std::runtime_error(fmt::format("{}: of {} images none is left to {} on with {}", folder.string(), whole,
                                           wanted.part == DatasetPart::train ? "train" : "test",
                                           split_options_text(wanted.options)));
    if (wanted.part == DatasetPart::train) info.notices.push_back(division_text(wanted, whole, listed.images.size()));
  }
  return std::make_shared<FolderDataset>(std::move(info), std::move(listed.images));
}

}  // namespace fib
