// SPDX-License-Identifier: Apache-2.0
#include "data/image_folder.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <string_view>

namespace fib {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 4> kExtensions{".jpg", ".jpeg", ".png", ".webp"};
constexpr size_t kLongestIndex = 9;  // digits of a class index

[[noreturn]] void fail(const fs::path& folder, const std::string& reason) {
  throw std::runtime_error("image folder '" + folder.string() + "': " + reason);
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool is_picture(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(kExtensions, extension) != kExtensions.end() && !is_hidden(path);
}

bool is_index(const std::string& name) {
  return name.size() <= kLongestIndex &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
}

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
  const auto name = std::ranges::find_if_not(names, is_index);
  if (name != names.end())
    fail(folder, "class folders mix numbers with names such as '" + *name + "', accepted are either (numbers up to " +
                     std::to_string(kLongestIndex) + " digits)");
  const auto index = [](const std::string& text) { return std::stoll(text); };
  std::ranges::stable_sort(names, {}, index);
  const auto twice = std::ranges::adjacent_find(names, {}, index);
  if (twice != names.end()) fail(folder, "'" + *twice + "' and '" + *(twice + 1) + "' are the same class index");
}

std::vector<fs::path> pictures_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && is_picture(entry.path())) files.push_back(entry.path());
  if (files.empty()) fail(folder, "this class has no pictures (jpg, jpeg, png, webp)");
  std::ranges::sort(files, {}, [](const fs::path& file) { return file.string(); });
  return files;
}

}  // namespace

ImageFolder list_image_folder(const fs::path& folder) {
  ImageFolder result;
  result.classes = class_names(folder);
  const bool numbered = std::ranges::any_of(result.classes, is_index);
  if (numbered) sort_by_index(result.classes, folder);
  for (size_t i = 0; i < result.classes.size(); ++i) {
    const auto label = numbered ? std::stoll(result.classes[i]) : static_cast<int64_t>(i);
    for (fs::path& file : pictures_of(folder / result.classes[i])) result.images.push_back({std::move(file), label});
    result.num_labels = label + 1;
  }
  return result;
}

}  // namespace fib
