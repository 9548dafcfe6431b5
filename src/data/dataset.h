// SPDX-License-Identifier: Apache-2.0
// Images or clips with labels, by index. What a dataset is like is in its info; how its pixels get to memory is its own
// business.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/clips/clip.h"
#include "data/images/image.h"
#include "data/registry/dataset_table.h"

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
  bool clips = false;                    ///< frames are asked for, not images
  std::vector<std::string> class_names;  ///< empty where they have none
  std::vector<std::string> notices;      ///< what a person should know of how it was read, one line each
};

/// A known dataset's facts as the opened one carries them.
DatasetInfo info_of(const DatasetRow& row, const std::filesystem::path& folder);

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
  /// Gives away the frames of a clip that are asked for, one by one; what is drawn comes from rng, before the first. An
  /// image is its one frame.
  virtual void for_frames(size_t index, const ClipSampling& sampling, CounterRng& rng, const FrameVisitor& visit) const;
  /// All of them.
  std::vector<Image> frames(size_t index, const ClipSampling& sampling, CounterRng& rng) const;
  /// What to call an item in a message: its file, or its file and number.
  virtual std::string item_name(size_t index) const = 0;
  virtual std::optional<ObjectBox> box(size_t /*index*/) const { return std::nullopt; }

 private:
  DatasetInfo info_;
  std::vector<int64_t> labels_;
};

/// Pixels of all images one after the other, each height × width × channels, and where each came from. Grey images take
/// one channel here and become RGB when they are asked for.
struct MemoryImages {
  int height = 0, width = 0, channels = 0;
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
  std::vector<std::string> files;     ///< read in this order
  std::vector<size_t> first_of_file;  ///< the number of each file's first image
};

/// Small datasets: every pixel in memory, as bytes.
class MemoryDataset : public Dataset {
 public:
  MemoryDataset(DatasetInfo info, MemoryImages images);

  Image image(size_t index) const override;
  std::string item_name(size_t index) const override;

 private:
  MemoryImages images_;
};

/// Every `stride`-th byte as a label. Throws std::runtime_error naming the file and the image of the first one that is
/// not below `classes`.
std::vector<int64_t> checked_labels(std::span<const uint8_t> bytes, size_t stride, int64_t classes,
                                    const std::string& file);

}  // namespace fib
