// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "base/atomic_file.h"
#include "base/json.h"
#include "base/read_file.h"
#include "data/dataset.h"
#include "data/file_formats.h"
#include "data/registry/packed_file.h"

namespace fib {
namespace {

constexpr int kSide = 32;
constexpr size_t kPixels = size_t{kSide} * kSide;
constexpr size_t kImagesPerFile = 10000;  // of CIFAR-10
constexpr size_t kMaxSmallFile = size_t{1} << 20;

/// How one variant lays out its files.
struct Layout {
  size_t label_bytes;  ///< the last of them is the class
  size_t images_per_file;
};

void append_interleaved(std::vector<uint8_t>& out, std::span<const uint8_t> planes) {
  const size_t begin = out.size();
  out.resize(begin + planes.size());
  for (size_t c = 0; c < 3; ++c)
    for (size_t p = 0; p < kPixels; ++p) out[begin + 3 * p + c] = planes[c * kPixels + p];
}

std::vector<uint8_t> read_records(const std::filesystem::path& file, size_t bytes) {
  std::vector<uint8_t> content = read_packed(file, bytes);
  if (content.size() != bytes)
    throw std::runtime_error(
        fmt::format("{}: {} bytes, the published file has {}", file.string(), content.size(), bytes));
  return content;
}

void append_file(MemoryImages& images, const std::filesystem::path& file, const std::vector<uint8_t>& content,
                 const Layout& layout, int64_t classes) {
  const size_t record = layout.label_bytes + 3 * kPixels;
  images.files.push_back(file.string());
  images.first_of_file.push_back(images.labels.size());
  const auto labels =
      checked_labels(std::span(content).subspan(layout.label_bytes - 1), record, classes, file.string());
  images.labels.insert(images.labels.end(), labels.begin(), labels.end());
  images.pixels.reserve(images.pixels.size() + labels.size() * 3 * kPixels);
  for (size_t i = 0; i < layout.images_per_file; ++i)
    append_interleaved(images.pixels, std::span(content).subspan(i * record + layout.label_bytes, 3 * kPixels));
}

MemoryImages read_files(const DatasetRequest& wanted, std::span<const DatasetFile> files, const Layout& layout) {
  MemoryImages images{kSide, kSide, 3, {}, {}, {}, {}};
  for (const DatasetFile& file : files) {
    const std::filesystem::path path = wanted.folder / file.name;
    const auto content = read_records(path, layout.images_per_file * (layout.label_bytes + 3 * kPixels));
    if (wanted.verify) check_md5(path, content, file.md5);
    append_file(images, path, content, layout, wanted.row.classes);
  }
  return images;
}

/// None where there is no such file.
std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  if (!std::filesystem::is_regular_file(file)) return lines;  // a pipe would be waited for
  std::istringstream in(read_file(file, kMaxSmallFile));
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

std::vector<uint8_t> read_label_list(const std::filesystem::path& file, size_t expected) {
  const auto json = parse_json_or_discard(read_file(file, kMaxSmallFile));
  if (!json.is_array() || json.size() != expected)
    throw std::runtime_error(fmt::format("{}: expected a JSON list of {} labels", file.string(), expected));
  std::vector<uint8_t> labels;
  for (const auto& label : json) {
    if (!label.is_number_integer() || label < 0 || label > 9)
      throw std::runtime_error(
          fmt::format("{}: entry {} is {}, accepted are 0 to 9", file.string(), labels.size(), label.dump()));
    labels.push_back(label.get<uint8_t>());
  }
  return labels;
}

Image read_batch_png(const std::filesystem::path& file) {
  Image image = read_image(file);
  if (image.height != static_cast<int64_t>(kImagesPerFile) || image.width != static_cast<int64_t>(kPixels))
    throw std::runtime_error(fmt::format("{}: {} by {} pixels, expected {} by {}", file.string(), image.width,
                                         image.height, kPixels, kImagesPerFile));
  return image;
}

/// Records of a label and the planes R, G, B.
std::vector<uint8_t> records(const Image& image, std::span<const uint8_t> labels) {
  std::vector<uint8_t> out;
  out.reserve(labels.size() * (1 + 3 * kPixels));
  for (size_t i = 0; i < labels.size(); ++i) {
    out.push_back(labels[i]);
    const uint8_t* row = image.row(static_cast<int64_t>(i));
    for (size_t c = 0; c < 3; ++c)
      for (size_t p = 0; p < kPixels; ++p) out.push_back(row[3 * p + c]);
  }
  return out;
}

}  // namespace

DatasetPtr open_cifar10(const DatasetRequest& wanted) {
  const auto all = wanted.row.files;
  const bool train = wanted.part == DatasetPart::train;
  const auto files = train ? all.first(all.size() - 1) : all.last(1);
  return std::make_shared<MemoryDataset>(info_of(wanted.row, wanted.folder),
                                         read_files(wanted, files, {1, kImagesPerFile}));
}

DatasetPtr open_cifar100(const DatasetRequest& wanted) {
  const bool train = wanted.part == DatasetPart::train;
  const Layout layout{2, train ? size_t{50000} : size_t{10000}};
  DatasetInfo info = info_of(wanted.row, wanted.folder);
  info.class_names = lines_of(wanted.folder / "fine_label_names.txt");
  if (info.class_names.size() != static_cast<size_t>(wanted.row.classes)) info.class_names.clear();
  return std::make_shared<MemoryDataset>(std::move(info),
                                         read_files(wanted, wanted.row.files.subspan(train ? 0 : 1, 1), layout));
}

std::vector<std::string> rebuild_cifar10(const std::filesystem::path& pngs, const std::filesystem::path& out) {
  const auto files = dataset_row("cifar10").files;
  const size_t training_files = files.size() - 1;
  std::vector<uint8_t> labels = read_label_list(pngs / "train_lables.json", training_files * kImagesPerFile);
  const auto test_labels = read_label_list(pngs / "test_lables.json", kImagesPerFile);
  labels.insert(labels.end(), test_labels.begin(), test_labels.end());
  std::filesystem::create_directories(out);
  std::vector<std::string> written;
  for (size_t f = 0; f < files.size(); ++f) {
    const std::filesystem::path target = out / files[f].name;
    const Image image = read_batch_png(pngs / target.filename().replace_extension(".png"));
    const auto content = records(image, std::span(labels).subspan(f * kImagesPerFile, kImagesPerFile));
    check_md5(target, content, files[f].md5);
    write_file_atomically(target, {reinterpret_cast<const char*>(content.data()), content.size()});
    written.push_back(target.string());
  }
  return written;
}

}  // namespace fib
