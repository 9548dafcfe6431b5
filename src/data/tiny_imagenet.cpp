// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

#include "base/read_file.h"
#include "base/text.h"
#include "data/folder_dataset.h"

namespace fib {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxAnnotations = size_t{1} << 24;  // words.txt has 2.7 MB

/// Calls use(line, where) for every line that is not empty; `where` is "file line n".
void for_each_line(const fs::path& file, const std::function<void(const std::string&, const std::string&)>& use) {
  if (fs::exists(file) && !fs::is_regular_file(file))  // a pipe would be waited for
    throw std::runtime_error(file.string() + ": is not a regular file");
  std::istringstream in(read_file(file, kMaxAnnotations));
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) use(line, fmt::format("{} line {}", file.string(), number));
  }
}

std::vector<std::string> sorted_wnids(const DatasetRow& row, const fs::path& folder) {
  std::vector<std::string> wnids;
  for_each_line(folder / "wnids.txt", [&](const std::string& line, const std::string&) { wnids.push_back(line); });
  std::ranges::sort(wnids);
  if (static_cast<int64_t>(wnids.size()) != row.classes)
    throw std::runtime_error(
        fmt::format("{}: {} classes, expected {}", (folder / "wnids.txt").string(), wnids.size(), row.classes));
  return wnids;
}

/// What people call each class, where words.txt says so.
std::vector<std::string> names_of(const std::vector<std::string>& wnids, const fs::path& folder) {
  std::vector<std::string> names = wnids;
  if (!fs::exists(folder / "words.txt")) return names;
  for_each_line(folder / "words.txt", [&](const std::string& line, const std::string&) {
    const size_t tab = line.find('\t');
    const auto found = std::ranges::lower_bound(wnids, line.substr(0, tab));
    if (tab != std::string::npos && found != wnids.end() && *found == line.substr(0, tab))
      names[static_cast<size_t>(found - wnids.begin())] = line.substr(tab + 1);
  });
  return names;
}

ObjectBox read_box(std::istream& fields, const std::string& where) {
  ObjectBox box;
  fields >> box.left >> box.top >> box.right >> box.bottom;
  if (!fields || box.left < 0 || box.top < 0 || box.right < box.left || box.bottom < box.top)
    throw std::runtime_error(where + ": expected a box of four numbers, left, top, right and bottom");
  return box;
}

struct Annotated {
  std::vector<LabeledFile> images;
  std::vector<std::optional<ObjectBox>> boxes;
};

Annotated read_validation(const std::vector<std::string>& wnids, const fs::path& folder) {
  Annotated result;
  for_each_line(folder / "val" / "val_annotations.txt", [&](const std::string& line, const std::string& where) {
    std::istringstream fields(line);
    std::string file, wnid;
    fields >> file >> wnid;
    const auto found = std::ranges::lower_bound(wnids, wnid);
    if (found == wnids.end() || *found != wnid)
      throw std::runtime_error(where + ": class " + in_quotes(wnid) + " is not in wnids.txt");
    result.images.push_back({folder / "val" / "images" / file, found - wnids.begin()});
    result.boxes.emplace_back(read_box(fields, where));
  });
  return result;
}

void add_boxes(std::map<std::string, ObjectBox>& boxes, const fs::path& file) {
  for_each_line(file, [&](const std::string& line, const std::string& where) {
    std::istringstream fields(line);
    std::string image;
    fields >> image;
    boxes[image] = read_box(fields, where);
  });
}

Annotated read_training(const std::vector<std::string>& wnids, const fs::path& folder) {
  ImageFolder listed = list_image_folder(folder / "train");
  if (listed.classes != wnids)
    throw std::runtime_error(fmt::format("{}: its {} class folders are not the {} of wnids.txt",
                                         (folder / "train").string(), listed.classes.size(), wnids.size()));
  std::map<std::string, ObjectBox> boxes;
  for (const std::string& wnid : wnids) {
    const fs::path file = folder / "train" / wnid / (wnid + "_boxes.txt");
    if (fs::exists(file)) add_boxes(boxes, file);
  }
  Annotated result;
  for (const LabeledFile& image : listed.images) {
    const auto found = boxes.find(image.file.filename().string());
    result.boxes.push_back(found == boxes.end() ? std::nullopt : std::optional(found->second));
  }
  result.images = std::move(listed.images);
  return result;
}

}  // namespace

DatasetPtr open_tiny_imagenet(const DatasetRequest& wanted) {
  const fs::path& folder = wanted.folder;
  const std::vector<std::string> wnids = sorted_wnids(wanted.row, folder);
  Annotated parts = wanted.part == DatasetPart::train ? read_training(wnids, folder) : read_validation(wnids, folder);
  DatasetInfo info = info_of(wanted.row, folder);
  info.class_names = names_of(wnids, folder);
  return std::make_shared<FolderDataset>(std::move(info), std::move(parts.images), std::move(parts.boxes));
}

}  // namespace fib
