// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "data/corruptions/corruption.h"

namespace fib::corruptions {
namespace {

void check_shape(const std::vector<int64_t>& shape, const Dataset& clean, const std::string& file) {
  const auto wanted = static_cast<int64_t>(kSeverities * clean.size());
  if (shape.size() == 4 && shape[0] == wanted && shape[3] == 3) return;
  std::string text;
  for (int64_t n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
  throw std::runtime_error(file + ": shape (" + text + "), expected (" + std::to_string(wanted) +
                           ", height, width, 3): five severities of the test set");
}

}  // namespace

std::filesystem::path published_file(const std::filesystem::path& folder, const std::string& name) {
  return folder / (name + ".npy");
}

PublishedDataset::PublishedDataset(const DatasetPtr& clean, const std::filesystem::path& file, int severity)
    : Dataset(clean->info(), clean->labels()),
      array_(file, NpyAccepted::bytes),
      file_(file.string()),
      first_(static_cast<size_t>(severity - 1) * clean->size()) {
  check_shape(array_.shape(), *clean, file_);
}

Image PublishedDataset::image(size_t index) const {
  Image image = make_image(array_.shape()[2], array_.shape()[1]);
  const size_t bytes = image.pixels.size();
  const auto values = array_.values<uint8_t>().subspan((first_ + index) * bytes, bytes);
  std::copy(values.begin(), values.end(), image.pixels.begin());
  return image;
}

std::string PublishedDataset::item_name(size_t index) const {
  return file_ + " image " + std::to_string(first_ + index);
}

}  // namespace fib::corruptions
