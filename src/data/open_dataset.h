// SPDX-License-Identifier: Apache-2.0
// From a name to images: the datasets of the registry, whole or divided for an experiment.
#pragma once

#include <string_view>

#include "data/dataset.h"
#include "data/registry/datasets.h"
#include "data/subset.h"

namespace fib {

/// `source` is NAME or NAME:PATH; `verify` compares checksums too, where they are published. Throws std::runtime_error
/// with one line: the file, what was found there, what is accepted or how to get it.
DatasetPtr open_dataset(std::string_view source, DatasetPart part, bool verify = false);

/// The three sets of an experiment. `validation` is null unless asked for: it is held out of the training set.
struct DataSplits {
  DatasetPtr train, validation, test;
};
DataSplits open_data_splits(std::string_view source, const SplitOptions& options, bool verify = false);

}  // namespace fib
