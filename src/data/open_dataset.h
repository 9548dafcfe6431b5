// SPDX-License-Identifier: Apache-2.0
// From a name to images: the datasets of the registry, whole or divided for an experiment.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/registry/datasets.h"

namespace fib {

/// The items at `indices` of another dataset, in that order.
class Subset : public Dataset {
 public:
  Subset(DatasetPtr whole, std::vector<size_t> indices);

  Image image(size_t index) const override { return whole_->image(indices_[index]); }
  void for_frames(size_t index, const ClipSampling& sampling, CounterRng& rng,
                  const FrameVisitor& visit) const override {
    whole_->for_frames(indices_[index], sampling, rng, visit);
  }
  std::string item_name(size_t index) const override { return whole_->item_name(indices_[index]); }
  std::optional<ObjectBox> box(size_t index) const override { return whole_->box(indices_[index]); }
  const std::vector<size_t>& indices() const { return indices_; }

 private:
  DatasetPtr whole_;
  std::vector<size_t> indices_;
};

/// How a training set is divided. Every class gives its share, so small parts keep the proportions of the whole.
struct SplitOptions {
  double validation_fraction = 0;  ///< in [0, 1)
  double train_fraction = 1;       ///< of what is left after the validation part, in (0, 1]
  int64_t limit_per_class = 0;     ///< 0: no limit
  uint64_t seed = 0;               ///< its own, so that runs which differ in their seed are judged on the same images
};

struct TrainingSplit {
  std::vector<size_t> train, validation;  ///< ascending
};

/// The validation part depends on the seed and its own size alone; with the same seed a smaller training part is a
/// subset of a larger one. Throws std::invalid_argument for options out of range and for parts that would be empty.
TrainingSplit split_training_set(const std::vector<int64_t>& labels, int64_t classes, const SplitOptions& options);

/// `source` is NAME or NAME:PATH; `verify` compares checksums too, where they are published. Throws std::runtime_error
/// with one line: the file, what was found there, what is accepted or how to get it.
DatasetPtr open_dataset(std::string_view source, DatasetPart part, bool verify = false);

/// The three sets of an experiment. `validation` is null unless asked for: it is held out of the training set.
struct DataSplits {
  DatasetPtr train, validation, test;
};
DataSplits open_data_splits(std::string_view source, const SplitOptions& options, bool verify = false);

}  // namespace fib
