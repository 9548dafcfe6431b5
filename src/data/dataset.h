// SPDX-License-Identifier: Apache-2.0
// Images with labels, by index. What a dataset is like is in its info; how its pixels get to memory is its own
// business.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/image.h"

namespace fib {

/// What models, transforms and reports need to know about a dataset.
struct DatasetInfo {
  std::string name;
  std::filesystem::path path;
  int64_t classes = 0;
  int image_size = 0;  ///< side of the square images; 0 where sizes vary
  int channels = 3;
  std::vector<float> mean, std;          ///< per channel, of values in [0, 1]
  bool may_mirror = true;                ///< a mirrored image is of the same class
  std::vector<std::string> class_names;  ///< empty where nobody named them
};

/// An object in an image: left and top are inside, right and bottom too, as the annotation files write them.
struct ObjectBox {
  int left = 0, top = 0, right = 0, bottom = 0;
};

/// All members are safe to call from many threads.
class Dataset {
 public:
  Dataset(DatasetInfo info, std::vector<int64_t> labels) : info_(std::move(info)), labels_(std::move(labels)) {}
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const DatasetInfo& info() const { return info_; }
  size_t size() const { return labels_.size(); }
  int64_t label(size_t index) const { return labels_[index]; }
  const std::vector<int64_t>& labels() const { return labels_; }

  /// Throws std::runtime_error naming the file where it cannot be read.
  virtual Image image(size_t index) const = 0;
  /// What to call an item in a message: its file, or its file and number.
  virtual std::string item_name(size_t index) const = 0;
  virtual std::optional<ObjectBox> box(size_t /*index*/) const { return std::nullopt; }

 private:
  DatasetInfo info_;
  std::vector<int64_t> labels_;
};

using DatasetPtr = std::shared_ptr<const Dataset>;

}  // namespace fib
