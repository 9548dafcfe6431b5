// SPDX-License-Identifier: Apache-2.0
#include "data/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "base/rng.h"

namespace fib {
namespace {

void check(size_t size, const SamplerOptions& options) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument(what); };
  if (options.batch == 0) refuse("batch size 0: accepted is 1 or more");
  if (options.repeats == 0) refuse("0 repeats of each image: accepted is 1 or more");
  if (options.world == 0 || options.rank >= options.world)
    refuse(fmt::format("rank {} of {}: accepted are ranks from 0 to below the number of ranks", options.rank,
                       options.world));
  if (options.batch % options.world != 0)
    refuse(fmt::format("batch size {} over {} ranks: accepted is a multiple of the number of ranks", options.batch,
                       options.world));
  if (size == 0) refuse("the dataset has no images");
  if (options.drop_last && size < options.batch)
    refuse(fmt::format("batch size {} but only {} images: accepted is at most that many", options.batch, size));
}

}  // namespace

Sampler::Sampler(size_t dataset_size, const SamplerOptions& options) : size_(dataset_size), options_(options) {
  check(size_, options_);
  steps_ = options_.drop_last ? size_ / options_.batch : (size_ - 1) / options_.batch + 1;  // size_ + batch may not fit
}

std::vector<size_t> Sampler::order(uint64_t epoch) const {
  std::vector<size_t> order(size_);
  std::iota(order.begin(), order.end(), size_t{0});
  if (options_.shuffle) {
    CounterRng rng(options_.seed, {static_cast<uint64_t>(RandomUse::order), epoch});
    shuffle(order, rng);
  }
  for (size_t i = size_; i-- > 0;) order[i] = order[i / options_.repeats];
  return order;
}

std::vector<size_t> Sampler::part(const std::vector<size_t>& order, size_t step) const {
  const size_t begin = step * options_.batch, end = std::min(begin + options_.batch, order.size());
  std::vector<size_t> mine;
  mine.reserve((end - begin) / options_.world + 1);
  for (size_t i = begin + options_.rank; i < end; i += options_.world) mine.push_back(order[i]);
  return mine;
}

}  // namespace fib
