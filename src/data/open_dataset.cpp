// SPDX-License-Identifier: Apache-2.0
#include "data/open_dataset.h"

#include <stdexcept>
#include <utility>

#include "data/cifar.h"
#include "data/folder_dataset.h"
#include "data/idx.h"
#include "data/tiny_imagenet.h"

namespace fib {

DatasetPtr open_dataset(std::string_view source, DatasetPart part, bool verify) {
  const DataSource parsed = parse_data_source(source);
  const DatasetRow& row = *parsed.row;
  const std::filesystem::path folder = locate_dataset(parsed);
  switch (row.layout) {
    case DatasetLayout::idx:
      return open_idx(row, folder, part, verify);
    case DatasetLayout::cifar10:
      return open_cifar10(row, folder, part, verify);
    case DatasetLayout::cifar100:
      return open_cifar100(row, folder, part, verify);
    case DatasetLayout::tiny_imagenet:
      return open_tiny_imagenet(row, folder, part);
    case DatasetLayout::folder:
      return open_folder_dataset(row, folder, part);
  }
  throw std::logic_error("a dataset layout without a case");
}

DataSplits open_data_splits(std::string_view source, const SplitOptions& options, bool verify) {
  const DatasetPtr whole = open_dataset(source, DatasetPart::train, verify);
  TrainingSplit split = split_training_set(whole->labels(), whole->info().classes, options);
  DataSplits splits;
  splits.train = std::make_shared<Subset>(whole, std::move(split.train));
  if (!split.validation.empty()) splits.validation = std::make_shared<Subset>(whole, std::move(split.validation));
  splits.test = open_dataset(source, DatasetPart::test, verify);
  return splits;
}

}  // namespace fib
