// SPDX-License-Identifier: Apache-2.0
#include "patterns/random_pairs.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace fib {
namespace {

/// The values of 0 … total-1 that are not in `taken`, which is ascending.
std::vector<uint64_t> complement(const std::vector<uint64_t>& taken, uint64_t total) {
  std::vector<uint64_t> rest;
  rest.reserve(total - taken.size());
  auto next = taken.begin();
  for (uint64_t i = 0; i < total; ++i) {
    if (next != taken.end() && *next == i) {
      ++next;
    } else {
      rest.push_back(i);
    }
  }
  return rest;
}

/// Key `rank` (from 0) among those of a row that are not in `taken`, which is ascending.
int64_t free_key(const std::vector<int64_t>& taken, int64_t rank) {
  for (int64_t t : taken) {
    if (t > rank) break;
    ++rank;
  }
  return rank;
}

}  // namespace

std::vector<uint64_t> draw_sorted(uint64_t count, uint64_t total, CounterRng& rng) {
  if (count > total / 2) return complement(draw_sorted(total - count, total, rng), total);
  std::vector<uint64_t> drawn;
  drawn.reserve(count);
  // No draw is ever thrown away for being one too many, so by symmetry no set is preferred.
  while (drawn.size() < count) {
    while (drawn.size() < count) drawn.push_back(rng.below(total));
    std::sort(drawn.begin(), drawn.end());
    drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  }
  return drawn;
}

void add_random_pairs(HeadPattern& head, int64_t count, const PatternGeometry& geometry, CounterRng& rng) {
  const int64_t n = geometry.patches;
  const SupportSet structure(n, 0, {head}, geometry.causal);
  const int64_t total = (geometry.causal ? n * (n + 1) / 2 : n * n) - structure.pairs();
  if (count > total) {
    throw std::invalid_argument("asked for " + std::to_string(count) + " random pairs per head, but only " +
                                std::to_string(total) + " remain over " + std::to_string(n) + " tokens");
  }
  const auto ranks = draw_sorted(static_cast<uint64_t>(count), static_cast<uint64_t>(total), rng);
  // Rank r is the r-th free pair in reading order: walk the rows once, beside the ascending ranks.
  auto next = ranks.begin();
  for (int64_t row = 0, row_begin = 0; next != ranks.end(); ++row) {
    const auto taken = structure.keys_of_row(0, row);
    const int64_t row_end = row_begin + (geometry.causal ? row + 1 : n) - static_cast<int64_t>(taken.size());
    for (; next != ranks.end() && static_cast<int64_t>(*next) < row_end; ++next) {
      const int64_t key = free_key(taken, static_cast<int64_t>(*next) - row_begin);
      head.pairs.push_back({static_cast<int32_t>(geometry.cls + row), static_cast<int32_t>(geometry.cls + key)});
    }
    row_begin = row_end;
  }
}

}  // namespace fib
