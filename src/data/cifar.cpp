// SPDX-License-Identifier: Apache-2.0
#include "data/cifar.h"

#include <fstream>
#include <stdexcept>

#include "data/memory_dataset.h"
#include "data/registry/packed_file.h"
#include "data/row_info.h"

namespace fib {
namespace {

/// How one variant lays out its files.
struct Layout {
  size_t label_bytes;  ///< the last of them is the class
  size_t images_per_file;
};

void append_interleaved(std::vector<uint8_t>& out, std::span<const uint8_t> planes) {
  const size_t begin = out.size();
  out.resize(begin + planes.size());
  for (size_t c = 0; c < 3; ++c)
    for (size_t p = 0; p < kCifarPixels; ++p) out[begin + 3 * p + c] = planes[c * kCifarPixels + p];
}

std::vector<uint8_t> read_file(const std::filesystem::path& file, size_t bytes) {
  std::vector<uint8_t> content = read_packed(file);
  if (content.size() != bytes)
    throw std::runtime_error(file.string() + ": " + std::to_string(content.size()) + " bytes, the published file has " +
                             std::to_string(bytes));
  return content;
}

void append_file(MemoryImages& images, const std::filesystem::path& file, const std::vector<uint8_t>& content,
                 const Layout& layout, int64_t classes) {
  const size_t record = layout.label_bytes + 3 * kCifarPixels;
  images.files.push_back(file.string());
  images.first_of_file.push_back(images.labels.size());
  const auto labels =
      checked_labels(std::span(content).subspan(layout.label_bytes - 1), record, classes, file.string());
  images.labels.insert(images.labels.end(), labels.begin(), labels.end());
  images.pixels.reserve(images.pixels.size() + labels.size() * 3 * kCifarPixels);
  for (size_t i = 0; i < layout.images_per_file; ++i)
    append_interleaved(images.pixels, std::span(content).subspan(i * record + layout.label_bytes, 3 * kCifarPixels));
}

MemoryImages read_files(const DatasetRow& row, std::span<const DatasetFile> files, const std::filesystem::path& folder,
                        const Layout& layout, bool verify) {
  MemoryImages images{kCifarSide, kCifarSide, 3, {}, {}, {}, {}};
  for (const DatasetFile& file : files) {
    const std::filesystem::path path = folder / file.name;
    const auto content = read_file(path, layout.images_per_file * (layout.label_bytes + 3 * kCifarPixels));
    if (verify) check_md5(path, content, file.md5);
    append_file(images, path, content, layout, row.classes);
  }
  return images;
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace

DatasetPtr open_cifar10(const DatasetRow& row, const std::filesystem::path& folder, DatasetPart part, bool verify) {
  const size_t training_files = row.files.size() - 1;
  const auto files = part == DatasetPart::train ? row.files.first(training_files) : row.files.subspan(training_files);
  return std::make_shared<MemoryDataset>(info_of(row, folder),
                                         read_files(row, files, folder, {1, kCifarBatch}, verify));
}

DatasetPtr open_cifar100(const DatasetRow& row, const std::filesystem::path& folder, DatasetPart part, bool verify) {
  const bool train = part == DatasetPart::train;
  const Layout layout{2, train ? size_t{50000} : size_t{10000}};
  DatasetInfo info = info_of(row, folder);
  info.class_names = lines_of(folder / "fine_label_names.txt");
  if (info.class_names.size() != static_cast<size_t>(row.classes)) info.class_names.clear();
  return std::make_shared<MemoryDataset>(std::move(info),
                                         read_files(row, row.files.subspan(train ? 0 : 1, 1), folder, layout, verify));
}

}  // namespace fib
