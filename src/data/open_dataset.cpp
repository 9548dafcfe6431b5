// SPDX-License-Identifier: Apache-2.0
#include "data/open_dataset.h"

#include <algorithm>
#include <utility>

namespace fib {

DatasetPtr open_dataset(std::string_view source, DatasetPart part, bool verify) {
  const DataSource parsed = parse_data_source(source);
  const std::filesystem::path folder = locate_dataset(parsed);
  const auto* known = std::ranges::find(kKnownDatasets, parsed.row->name, [](const auto& d) { return d.row.name; });
  return known->open({*parsed.row, folder, part, verify, parsed.options});
}

DataSplits open_data_splits(std::string_view source, const SplitOptions& options, bool verify) {
  const DatasetPtr whole = open_dataset(source, DatasetPart::train, verify);
  DataSplits splits;
  if (options.validation_fraction > 0 && whole->info().clips)
    splits.validation = open_dataset(source, DatasetPart::validation, verify);
  SplitOptions held_out = options;
  if (splits.validation) held_out.validation_fraction = 0;  // it has one of its own
  TrainingSplit split = split_training_set(whole->labels(), whole->info().classes, held_out);
  splits.train = std::make_shared<Subset>(whole, std::move(split.train));
  if (!split.validation.empty()) splits.validation = std::make_shared<Subset>(whole, std::move(split.validation));
  splits.test = open_dataset(source, DatasetPart::test, verify);
  return splits;
}

}  // namespace fib
