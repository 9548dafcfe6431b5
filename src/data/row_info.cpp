// SPDX-License-Identifier: Apache-2.0
#include "data/row_info.h"

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
  info.class_names.assign(row.class_names.begin(), row.class_names.end());
  return info;
}

std::vector<int64_t> checked_labels(std::span<const uint8_t> bytes, size_t stride, int64_t classes,
                                    const std::string& file) {
  std::vector<int64_t> labels;
  labels.reserve(bytes.size() / stride + 1);
  for (size_t at = 0; at < bytes.size(); at += stride) {
    if (bytes[at] >= classes)
      throw std::runtime_error(file + ": image " + std::to_string(at / stride) + " has label " +
                               std::to_string(bytes[at]) + ", accepted are 0 to " + std::to_string(classes - 1));
    labels.push_back(bytes[at]);
  }
  return labels;
}

}  // namespace fib
