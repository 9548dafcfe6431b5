// SPDX-License-Identifier: Apache-2.0
#include "data/registry/datasets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "base/nearest.h"
#include "base/text.h"
#include "data/registry/dataset_table.h"
#include "data/registry/packed_file.h"

namespace fib {
namespace {

constexpr auto kRows = [] {
  std::array<DatasetRow, std::size(kKnownDatasets)> rows{};
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = kKnownDatasets[i].row;
  return rows;
}();

bool present(const DatasetFile& file, const std::filesystem::path& folder) {
  std::error_code unreadable;
  return file.may_be_gzipped ? find_packed(folder, file.name).has_value()
                             : std::filesystem::exists(folder / file.name, unreadable);
}

bool has_path(const DatasetRow& row, const std::filesystem::path& path) {
  std::error_code unreadable;
  return row.is_list ? std::filesystem::is_regular_file(path, unreadable)
                     : std::filesystem::is_directory(path, unreadable);
}

/// Of "key=value&key=value".
DataOptions parse_options(const DatasetRow& row, std::string_view text) {
  const std::vector<std::string> known(row.options.begin(), row.options.end());
  DataOptions options;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const size_t equals = item.find('=');
    const std::string key(item.substr(0, equals));
    if (std::ranges::find(known, key) == known.end())
      throw std::invalid_argument(unknown_name(fmt::format("option of {}", row.name), key, known));
    if (equals == std::string_view::npos || equals + 1 == item.size())
      throw std::invalid_argument(fmt::format("'{}' after the path of {}: accepted is {}=VALUE", item, row.name, key));
    options[key] = item.substr(equals + 1);
  }
  return options;
}

[[noreturn]] void refuse_missing(const DataSource& source) {
  if (source.row->folder.empty())
    throw std::runtime_error(fmt::format("{}: there is no {} '{}'", source.row->name,
                                         source.row->is_list ? "list" : "folder", source.places[0].string()));
  std::vector<std::string> looked;
  for (const auto& place : source.places) looked.push_back(place.string());
  throw std::runtime_error(fmt::format("{}: {} not found in {}; to get it: {}", source.row->name,
                                       fmt::join(missing_files(*source.row, source.places[0]), ", "),
                                       fmt::join(looked, " and "), source.row->how_to_get));
}

}  // namespace

std::span<const DatasetRow> dataset_rows() { return kRows; }

namespace {

/// A folder that is there was meant to be one.
void refuse_bare_folder(std::string_view text) {
  const auto known = [&](const DatasetRow& row) { return row.name == text; };
  std::error_code unreadable;
  if (std::ranges::any_of(kRows, known) || !std::filesystem::is_directory(text, unreadable)) return;
  throw std::invalid_argument(
      fmt::format("unknown dataset {0}, did you mean 'folder:{1}'? {0} is a folder; clips:PATH "
                  "is one of videos",
                  in_quotes(text), printable(text, kLongestQuote)));
}

}  // namespace

const DatasetRow& dataset_row(std::string_view name) { return find_named(kRows, "dataset", name, &DatasetRow::name); }

std::filesystem::path data_root() {
  if (const char* root = std::getenv("FIB_DATA"); root != nullptr && *root != '\0') return root;
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::filesystem::path(home) / ".cache" / "fibottention";
  return "data";
}

DataSource parse_data_source(std::string_view text) {
  refuse_bare_folder(text);
  const size_t colon = text.find(':');
  DataSource source{&dataset_row(text.substr(0, colon)), {}};
  const DatasetRow& row = *source.row;
  std::string_view path = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (const size_t mark = path.find('?'); !row.options.empty() && mark != std::string_view::npos) {
    source.options = parse_options(row, path.substr(mark + 1));
    path = path.substr(0, mark);
  }
  if (!path.empty()) {
    source.places.emplace_back(path);
    if (!row.folder.empty()) source.places.push_back(std::filesystem::path(path) / row.folder);
    return source;
  }
  if (row.folder.empty())
    throw std::invalid_argument(
        fmt::format("'{}' names no {}: accepted is {}:PATH", text, row.is_list ? "file" : "folder", row.name));
  source.places.push_back(data_root() / row.folder);
  if (!row.installed.empty()) source.places.emplace_back(row.installed);
  return source;
}

std::string split_options_text(const DataOptions& options) {
  const auto value = [&](const char* key, const char* otherwise) {
    const auto found = options.find(key);
    return found != options.end() ? found->second : std::string(otherwise);
  };
  return fmt::format("?test={}&seed={}", value("test", kTestShare), value("seed", kSplitSeed));
}

std::string divided_source(std::string_view text) {
  const DataSource source = parse_data_source(text);
  std::error_code unreadable;
  const bool whole =
      source.row->divided_on_demand && !std::filesystem::is_directory(source.places.front() / "train", unreadable);
  return std::string(text.substr(0, whole ? text.find('?') : text.size())) +
         (whole ? split_options_text(source.options) : "");
}

double training_images(const DataSource& source) {
  const DatasetRow& row = *source.row;
  if (row.trained_share == nullptr) return static_cast<double>(row.training_images);
  return static_cast<double>(row.all_images) * row.trained_share(source.options);
}

std::vector<std::string> missing_files(const DatasetRow& row, const std::filesystem::path& folder) {
  std::vector<std::string> missing;
  for (const DatasetFile& file : row.files)
    if (!present(file, folder)) missing.emplace_back(file.name);
  if (row.files.empty() && !has_path(row, folder)) missing.emplace_back(row.is_list ? "the list" : "the folder");
  return missing;
}

std::optional<std::filesystem::path> find_dataset(const DataSource& source) {
  for (const auto& place : source.places)
    if (missing_files(*source.row, place).empty()) return place;
  return std::nullopt;
}

std::filesystem::path locate_dataset(const DataSource& source) {
  const auto folder = find_dataset(source);
  if (!folder) refuse_missing(source);
  return *folder;
}

void verify_dataset(const DatasetRow& row, const std::filesystem::path& folder) {
  for (const DatasetFile& file : row.files) {
    if (file.md5.empty()) continue;
    const auto path = find_packed(folder, file.name);
    if (!path) throw std::runtime_error((folder / file.name).string() + ": not found");
    check_md5(*path, read_packed(*path), file.md5);
  }
}

}  // namespace fib
