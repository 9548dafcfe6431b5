// SPDX-License-Identifier: Apache-2.0
// Asking about the datasets of dataset_table.h: what they are, where they are looked for, how to get them. Opening them
// is in open_dataset.h, so that a program that only asks does not load the libraries that decode images.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fib {

enum class DatasetPart { train, validation, test };

/// A file or folder that a dataset consists of. Gzipped files count as the file they contain.
struct DatasetFile {
  std::string_view name;
  std::string_view md5;  ///< of the published file, unpacked; empty where none is published
  bool may_be_gzipped = false;
};

/// What follows the path of a dataset that has options.
using DataOptions = std::map<std::string, std::string>;

struct DatasetRow {
  std::string_view name{}, what{};
  std::string_view how_to_get{};
  std::string_view folder{};     ///< below the data root; empty: a path must be given
  std::string_view installed{};  ///< where a Debian package puts it; empty where there is none
  std::span<const DatasetFile> files{};
  std::span<const std::string_view> class_names{};
  int64_t classes = 0;          ///< 0: as many as there are folders
  int64_t training_images = 0;  ///< 0: as many as there are files, or as options divide them
  int64_t all_images = 0;       ///< of all parts together, where options divide them
  double (*trained_share)(const DataOptions& options) = nullptr;  ///< of all images, by persons or cameras
  int image_size = 0;                                             ///< 0: sizes vary
  int channels = 3;
  std::array<float, 3> mean{}, std{};
  bool may_mirror = true;          ///< a mirrored image is of the same class
  bool clips = false;              ///< videos, of which a model sees some frames
  bool is_list = false;            ///< its path names a file
  bool divided_on_demand = false;  ///< without train/ it is whole where it is tested on, and divided for training
  std::span<const std::string_view> options{};  ///< that may follow the path: NAME:PATH?key=value&key=value
};

std::span<const DatasetRow> dataset_rows();
/// Throws std::invalid_argument with the list of known names and the nearest.
const DatasetRow& dataset_row(std::string_view name);

/// Default places are below this: the environment variable FIB_DATA, else ~/.cache/fibottention, else ./data.
std::filesystem::path data_root();

/// "cifar10" or "cifar10:/path": which dataset, and the folders to look in, best first.
struct DataSource {
  const DatasetRow* row = nullptr;
  std::vector<std::filesystem::path> places;
  DataOptions options = {};
};
/// Throws std::invalid_argument for an unknown name or option, and for a kind that needs a path without one.
DataSource parse_data_source(std::string_view text);
/// How files without splits are divided unless options say otherwise.
inline constexpr const char *kTestShare = "0.2", *kSplitSeed = "0";
/// "?test=0.2&seed=0", the options or what they are without.
std::string split_options_text(const DataOptions& options);
/// The source with its division written out where it is divided on demand: "folder:DIR" without train/ becomes
/// "folder:DIR?test=0.2&seed=0", so that nothing that is trained on is tested on, now or when the run is evaluated.
std::string divided_source(std::string_view text);

/// How many images or clips are trained on, for estimates; 0 where only the files tell.
double training_images(const DataSource& source);
/// The files of the dataset that the folder lacks.
std::vector<std::string> missing_files(const DatasetRow& row, const std::filesystem::path& folder);
/// The first place that has all files.
std::optional<std::filesystem::path> find_dataset(const DataSource& source);
/// The same, or a std::runtime_error that says what is missing, where it was looked for and how to get it.
std::filesystem::path locate_dataset(const DataSource& source);

/// Compares every file with the published checksum; throws std::runtime_error at the first that differs.
void verify_dataset(const DatasetRow& row, const std::filesystem::path& folder);

}  // namespace fib
