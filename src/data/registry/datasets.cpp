// SPDX-License-Identifier: Apache-2.0
#include "data/registry/datasets.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "base/nearest.h"
#include "data/registry/packed_file.h"

namespace fib {
namespace {

constexpr DatasetFile kFashionFiles[] = {
    {"train-images-idx3-ubyte", "f4a8712d7a061bf5bd6d2ca38dc4d50a", true},
    {"train-labels-idx1-ubyte", "9018921c3c673c538a1fc5bad174d6f9", true},
    {"t10k-images-idx3-ubyte", "8181f5470baa50b63fa0f6fddb340f0a", true},
    {"t10k-labels-idx1-ubyte", "15d484375f8d13e6eb1aabb0c3f46965", true},
};
constexpr DatasetFile kMnistFiles[] = {
    {"train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb", true},
    {"train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624", true},
    {"t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea", true},
    {"t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637", true},
};
constexpr DatasetFile kCifar10Files[] = {
    {"data_batch_1.bin", "5dd7e06a14cb22eb9f671a540d1b7c25"}, {"data_batch_2.bin", "5ea93a67294ea407fff1d09f752e9692"},
    {"data_batch_3.bin", "942cd6a4bcdd0dd3c604fbe906cb4421"}, {"data_batch_4.bin", "ae636b3ba5c66a11e91e8cb52e771fcb"},
    {"data_batch_5.bin", "53f37980c15c3d472c316c40844f3f0d"}, {"test_batch.bin", "803d5f7f4d78ea53de84dbe85f74fb6d"},
};
constexpr DatasetFile kCifar100Files[] = {
    {"train.bin", "6172c7755cfe09b2fe270c85cebc1b15"},
    {"test.bin", "4499cfba6c016c1be1438163640a0898"},
};
constexpr DatasetFile kTinyImagenetFiles[] = {
    {"wnids.txt", ""}, {"train", ""}, {"val/images", ""}, {"val/val_annotations.txt", ""}};
constexpr DatasetFile kImagenetFiles[] = {{"train", ""}, {"val", ""}};

constexpr std::string_view kFashionClasses[] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                                "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
constexpr std::string_view kDigits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
constexpr std::string_view kCifar10Classes[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                "dog",      "frog",       "horse", "ship", "truck"};

/// Means and deviations of the CIFARs are the published code's, ImageNet's are timm's.
const DatasetRow kRows[] = {
    {"fashion-mnist",
     "60,000 + 10,000 grey images of clothes, 28x28, 10 classes",
     "apt-get install dataset-fashion-mnist",
     "fashion-mnist",
     "/usr/share/datasets/fashion-mnist",
     kFashionFiles,
     kFashionClasses,
     10,
     60'000,
     28,
     1,
     {.2860F},
     {.3530F},
     true,
     DatasetLayout::idx},
    {"mnist",
     "60,000 + 10,000 grey images of digits, 28x28, 10 classes",
     "scripts/get-data.sh mnist",
     "mnist",
     "",
     kMnistFiles,
     kDigits,
     10,
     60'000,
     28,
     1,
     {.1307F},
     {.3081F},
     false,
     DatasetLayout::idx},
    {"cifar10",
     "50,000 + 10,000 colour images, 32x32, 10 classes",
     "scripts/get-data.sh cifar10",
     "cifar-10-batches-bin",
     "",
     kCifar10Files,
     kCifar10Classes,
     10,
     50'000,
     32,
     3,
     {.4914F, .4822F, .4465F},
     {.2023F, .1994F, .2010F},
     true,
     DatasetLayout::cifar10},
    {"cifar100",
     "50,000 + 10,000 colour images, 32x32, 100 classes",
     "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz, unpacked",
     "cifar-100-binary",
     "",
     kCifar100Files,
     {},
     100,
     50'000,
     32,
     3,
     {.5071F, .4865F, .4409F},
     {.2009F, .1984F, .2023F},
     true,
     DatasetLayout::cifar100},
    {"tiny-imagenet",
     "100,000 + 10,000 colour images, 64x64, 200 classes, with a box around each object",
     "http://cs231n.stanford.edu/tiny-imagenet-200.zip, unpacked",
     "tiny-imagenet-200",
     "",
     kTinyImagenetFiles,
     {},
     200,
     100'000,
     64,
     3,
     {.4802F, .4481F, .3975F},
     {.2770F, .2691F, .2821F},
     true,
     DatasetLayout::tiny_imagenet},
    {"imagenet",
     "ILSVRC 2012: 1,281,167 + 50,000 colour images, 1000 classes; train/ and val/ with a folder per class",
     "https://image-net.org (after registration), validation images sorted into class folders",
     "imagenet",
     "",
     kImagenetFiles,
     {},
     1000,
     1'281'167,
     0,
     3,
     {.485F, .456F, .406F},
     {.229F, .224F, .225F},
     true,
     DatasetLayout::folder},
    {"folder",
     "any image folder: train/ and val/ with a folder per class, or class folders alone to evaluate on",
     "folder:PATH",
     "",
     "",
     {},
     {},
     0,
     0,
     0,
     3,
     {.485F, .456F, .406F},
     {.229F, .224F, .225F},
     true,
     DatasetLayout::folder},
};

bool present(const DatasetFile& file, const std::filesystem::path& folder) {
  std::error_code unreadable;
  return file.may_be_gzipped ? find_packed(folder, file.name).has_value()
                             : std::filesystem::exists(folder / file.name, unreadable);
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

[[noreturn]] void refuse_missing(const DataSource& source) {
  std::string looked;
  for (const auto& place : source.places) looked += (looked.empty() ? "" : " and ") + place.string();
  throw std::runtime_error(std::string(source.row->name) + ": " + join(missing_files(*source.row, source.places[0])) +
                           " not found in " + looked + "; to get it: " + std::string(source.row->how_to_get));
}

}  // namespace

std::span<const DatasetRow> dataset_rows() { return kRows; }

const DatasetRow& dataset_row(std::string_view name) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const auto& r) { return r.name == name; });
  if (row != std::end(kRows)) return *row;
  std::vector<std::string> known;
  for (const DatasetRow& r : kRows) known.emplace_back(r.name);
  throw std::invalid_argument(unknown_name("dataset", name, known));
}

std::filesystem::path data_root() {
  if (const char* root = std::getenv("FIB_DATA"); root != nullptr && *root != '\0') return root;
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::filesystem::path(home) / ".cache" / "fibottention";
  return "data";
}

DataSource parse_data_source(std::string_view text) {
  const size_t colon = text.find(':');
  DataSource source{&dataset_row(text.substr(0, colon)), {}};
  const DatasetRow& row = *source.row;
  const std::string_view path = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (!path.empty()) {
    source.places.emplace_back(path);
    if (!row.folder.empty()) source.places.push_back(std::filesystem::path(path) / row.folder);
    return source;
  }
  if (row.folder.empty())
    throw std::invalid_argument("'" + std::string(text) + "' names no folder: accepted is " + std::string(row.name) +
                                ":PATH");
  source.places.push_back(data_root() / row.folder);
  if (!row.installed.empty()) source.places.emplace_back(row.installed);
  return source;
}

std::vector<std::string> missing_files(const DatasetRow& row, const std::filesystem::path& folder) {
  std::vector<std::string> missing;
  for (const DatasetFile& file : row.files)
    if (!present(file, folder)) missing.emplace_back(file.name);
  std::error_code unreadable;
  if (row.files.empty() && !std::filesystem::is_directory(folder, unreadable)) missing.emplace_back("the folder");
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
