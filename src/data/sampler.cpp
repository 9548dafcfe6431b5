// SPDX-License-Identifier: Apache-2.0
#include "data/sampler.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "base/rng.h"

namespace fib {
namespace {

void check(size_t size, const SamplerOptions& options) {
  const auto text = [](size_t n) { return std::to_string(n); };
  if (options.batch == 0) throw std::invalid_argument("batch size 0: accepted is 1 or more");
  if (options.world == 0 || options.rank >= options.world)
    throw std::invalid_argument("rank " + text(options.rank) + " of " + text(options.world) +
                                ": accepted are ranks from 0 to below the number of ranks");
  if (options.batch % options.world != 0)
    throw std::invalid_argument("batch size " + text(options.batch) + " over " + text(options.world) +
                                " ranks: accepted is a multiple of the number of ranks");
  if (size == 0) throw std::invalid_argument("the dataset has no images");
  if (options.drop_last && size < options.batch)
    throw std::invalid_argument("batch size " + text(options.batch) + " but only " + text(size) +
                                " images: accepted is at most that many");
}

}  // namespace

Sampler::Sampler(size_t dataset_size, const SamplerOptions& options) : size_(dataset_size), options_(options) {
  check(size_, options_);
  steps_ = options_.drop_last ? size_ / options_.batch : (size_ + options_.batch - 1) / options_.batch;
}

std::vector<size_t> Sampler::order(uint64_t epoch) const {
  std::vector<size_t> order(size_);
  std::iota(order.begin(), order.end(), size_t{0});
  if (!options_.shuffle) return order;
  CounterRng rng(options_.seed, {static_cast<uint64_t>(RandomUse::order), epoch});
  shuffle(order, rng);
  return order;
}

std::vector<size_t> Sampler::part(const std::vector<size_t>& order, size_t step) const {
  const size_t begin = step * options_.batch, end = std::min(begin + options_.batch, order.size());
  std::vector<size_t> mine;
  mine.reserve(options_.batch / options_.world);
  for (size_t i = begin + options_.rank; i < end; i += options_.world) mine.push_back(order[i]);
  return mine;
}

}  // namespace fib
