// SPDX-License-Identifier: Apache-2.0
#include "data/open_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/rng.h"

namespace fib {

namespace {

std::vector<int64_t> labels_at(const Dataset& whole, const std::vector<size_t>& indices) {
  std::vector<int64_t> labels;
  labels.reserve(indices.size());
  for (size_t i : indices) labels.push_back(whole.label(i));
  return labels;
}

void check(const SplitOptions& options) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument(what); };
  if (!(options.validation_fraction >= 0 && options.validation_fraction < 1))
    refuse(fmt::format("validation fraction {}: accepted is 0 to below 1", options.validation_fraction));
  if (!(options.train_fraction > 0 && options.train_fraction <= 1))
    refuse(fmt::format("training fraction {}: accepted is above 0 to 1", options.train_fraction));
  if (options.limit_per_class < 0)
    refuse(fmt::format("limit per class {}: accepted is 0 (no limit) or more", options.limit_per_class));
}

using Strata = std::vector<std::vector<size_t>>;

/// The images of each class, shuffled for good: parts are cut off the ends of these lists.
Strata shuffled_classes(const std::vector<int64_t>& labels, int64_t classes, uint64_t seed) {
  Strata strata(static_cast<size_t>(classes));
  for (size_t i = 0; i < labels.size(); ++i) strata[static_cast<size_t>(labels[i])].push_back(i);
  for (size_t c = 0; c < strata.size(); ++c) {
    CounterRng rng(seed, {static_cast<uint64_t>(RandomUse::split), c});
    shuffle(strata[c], rng);
  }
  return strata;
}

size_t total_of(const Strata& strata) {
  return std::accumulate(strata.begin(), strata.end(), size_t{0}, [](size_t n, const auto& s) { return n + s.size(); });
}

/// How many of each class make `wanted` in all: proportional shares, rounded by largest remainder.
std::vector<size_t> shares(const Strata& strata, size_t wanted) {
  const size_t total = total_of(strata);
  std::vector<size_t> share(strata.size()), order(strata.size());
  size_t given = 0;
  for (size_t c = 0; c < strata.size(); ++c) given += share[c] = strata[c].size() * wanted / total;
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return strata[a].size() * wanted % total > strata[b].size() * wanted % total;
  });
  for (size_t i = 0; given < wanted; ++i, ++given) ++share[order[i]];
  return share;
}

/// Takes the last `share` of every class away and returns them.
std::vector<size_t> cut_off(Strata& strata, const std::vector<size_t>& share) {
  std::vector<size_t> taken;
  for (size_t c = 0; c < strata.size(); ++c) {
    const auto first = strata[c].end() - static_cast<std::ptrdiff_t>(share[c]);
    taken.insert(taken.end(), first, strata[c].end());
    strata[c].erase(first, strata[c].end());
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

/// The first part of each class's list, so that a larger part contains a smaller one.
std::vector<size_t> training_part(const Strata& strata, const SplitOptions& options) {
  std::vector<size_t> part;
  for (const auto& stratum : strata) {
    auto keep = static_cast<size_t>(std::llround(options.train_fraction * static_cast<double>(stratum.size())));
    if (options.limit_per_class > 0) keep = std::min(keep, static_cast<size_t>(options.limit_per_class));
    part.insert(part.end(), stratum.begin(), stratum.begin() + static_cast<std::ptrdiff_t>(keep));
  }
  std::sort(part.begin(), part.end());
  return part;
}

}  // namespace

Subset::Subset(DatasetPtr whole, std::vector<size_t> indices)
    : Dataset(whole->info(), labels_at(*whole, indices)), whole_(std::move(whole)), indices_(std::move(indices)) {}

TrainingSplit split_training_set(const std::vector<int64_t>& labels, int64_t classes, const SplitOptions& options) {
  check(options);
  Strata strata = shuffled_classes(labels, classes, options.seed);
  TrainingSplit split;
  const auto held_out =
      static_cast<size_t>(std::llround(options.validation_fraction * static_cast<double>(labels.size())));
  if (held_out > 0) split.validation = cut_off(strata, shares(strata, held_out));
  split.train = training_part(strata, options);
  if (split.train.empty())
    throw std::invalid_argument(fmt::format("a training fraction of {} of {} images leaves none to train on",
                                            options.train_fraction, labels.size()));
  return split;
}

DatasetPtr open_dataset(std::string_view source, DatasetPart part, bool verify) {
  const DataSource parsed = parse_data_source(source);
  const std::filesystem::path folder = locate_dataset(parsed);
  const auto* known = std::ranges::find(kKnownDatasets, parsed.row->name, [](const auto& d) { return d.row.name; });
  return known->open({*parsed.row, folder, part, verify, parsed.options});
}

DataSplits open_data_splits(std::string_view given, const SplitOptions& options, bool verify) {
  const std::string source = divided_source(given);
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
