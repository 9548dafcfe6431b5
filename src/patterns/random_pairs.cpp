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

/// What a row sees by offsets and diagonal, ascending, without listing it: of a wide window there may be millions.
class TakenKeys {
 public:
  TakenKeys(const SupportSet& structure, int64_t row)
      : offsets_(structure.head(0).offsets), row_(row), diagonal_(structure.head(0).diagonal ? 1 : 0) {
    const auto up_to = [&](int64_t distance) {
      return std::upper_bound(offsets_.begin(), offsets_.end(), distance) - offsets_.begin();
    };
    below_ = up_to(row);
    above_ = structure.causal() ? 0 : up_to(structure.key_tokens() - 1 - row);
  }
  int64_t size() const { return below_ + diagonal_ + above_; }

  /// Key `rank` (from 0) among the others.
  int64_t free_key(int64_t rank) const {
    int64_t first = 0, end = size();  // how many of these stand before it
    while (first < end) {
      const int64_t middle = first + (end - first) / 2;
      if (at(middle) - middle > rank)
        end = middle;
      else
        first = middle + 1;
    }
    return rank + first;
  }

 private:
  int64_t at(int64_t i) const {
    if (i < below_) return row_ - offsets_[static_cast<size_t>(below_ - 1 - i)];
    return i < below_ + diagonal_ ? row_ : row_ + offsets_[static_cast<size_t>(i - below_ - diagonal_)];
  }

  const std::vector<int64_t>& offsets_;
  int64_t row_, diagonal_, below_ = 0, above_ = 0;
};

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
    const TakenKeys taken(structure, row);
    const int64_t row_end = row_begin + (geometry.causal ? row + 1 : n) - taken.size();
    for (; next != ranks.end() && static_cast<int64_t>(*next) < row_end; ++next) {
      const int64_t key = taken.free_key(static_cast<int64_t>(*next) - row_begin);
      head.pairs.push_back({static_cast<int32_t>(geometry.cls + row), static_cast<int32_t>(geometry.cls + key)});
    }
    row_begin = row_end;
  }
}

}  // namespace fib
