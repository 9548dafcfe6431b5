// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace fib {

DatasetInfo info_of(const DatasetRow& row, const std::filesystem::path& folder) {
  DatasetInfo info;
  info.name = row.name;
  info.path = folder;
  info.classes = row.classes;
  info.image_size = row.image_size;
  info.channels = row.channels;
  info.mean.assign(row.mean.begin(), row.mean.begin() + row.channels);
  info.std.assign(row.std.begin(), row.std.begin() + row.channels);
  info.may_mirror = row.may_mirror;
  info.clips = row.clips;
  info.class_names.assign(row.class_names.begin(), row.class_names.end());
  return info;
}

void Dataset::for_frames(size_t index, const ClipSampling&, CounterRng&, const FrameVisitor& visit) const {
  visit(0, image(index));
}

std::vector<Image> Dataset::frames(size_t index, const ClipSampling& sampling, CounterRng& rng) const {
  std::vector<Image> all;
  for_frames(index, sampling, rng, [&](size_t, Image frame) { all.push_back(std::move(frame)); });
  return all;
}

std::vector<int64_t> checked_labels(std::span<const uint8_t> bytes, size_t stride, int64_t classes,
                                    const std::string& file) {
  std::vector<int64_t> labels;
  labels.reserve(bytes.size() / stride + 1);
  for (size_t at = 0; at < bytes.size(); at += stride) {
    if (bytes[at] >= classes)
      throw std::runtime_error(
          fmt::format("{}: image {} has label {}, accepted are 0 to {}", file, at / stride, bytes[at], classes - 1));
    labels.push_back(bytes[at]);
  }
  return labels;
}

MemoryDataset::MemoryDataset(DatasetInfo info, MemoryImages images)
    : Dataset(std::move(info), std::move(images.labels)), images_(std::move(images)) {}

Image MemoryDataset::image(size_t index) const {
  Image image = make_image(images_.width, images_.height);
  const size_t pixels = image.pixels.size() / 3;
  if (images_.channels == 3) {
    std::copy_n(&images_.pixels[index * 3 * pixels], 3 * pixels, image.pixels.data());
    return image;
  }
  const uint8_t* grey = &images_.pixels[index * pixels];
  for (size_t p = 0; p < pixels; ++p) std::fill_n(&image.pixels[3 * p], 3, grey[p]);
  return image;
}

std::string MemoryDataset::item_name(size_t index) const {
  const auto next = std::upper_bound(images_.first_of_file.begin(), images_.first_of_file.end(), index);
  const size_t file = static_cast<size_t>(next - images_.first_of_file.begin()) - 1;
  return fmt::format("{} image {}", images_.files[file], index - images_.first_of_file[file]);
}

}  // namespace fib
