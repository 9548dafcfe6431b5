// SPDX-License-Identifier: Apache-2.0
#include "explorer/overlap.h"

#include <algorithm>
#include <iterator>

namespace fib::explorer {

int64_t shared_pairs(const SupportSet& s, int64_t a, int64_t b) {
  const SupportSet::Head &x = s.head(a), &y = s.head(b);
  std::vector<int64_t> offsets;
  std::set_intersection(x.offsets.begin(), x.offsets.end(), y.offsets.begin(), y.offsets.end(),
                        std::back_inserter(offsets));
  int64_t count = x.diagonal && y.diagonal ? s.patches() : 0;
  for (int64_t o : offsets) count += (s.causal() ? 1 : 2) * (s.patches() - o);
  for (const TokenPair& p : x.pairs.to_vector()) count += s.contains(b, p) ? 1 : 0;
  // Those that are listed in both heads are counted already.
  for (const TokenPair& p : y.pairs.to_vector()) count += s.contains(a, p) && !x.pairs.contains(p) ? 1 : 0;
  return count;
}

std::vector<std::vector<double>> overlap(const SupportSet& s) {
  const auto heads = static_cast<size_t>(s.num_heads());
  std::vector<std::vector<double>> table(heads, std::vector<double>(heads, 1.0));
  for (size_t a = 0; a < heads; ++a) {
    for (size_t b = 0; b < a; ++b) {
      const auto i = static_cast<int64_t>(a), j = static_cast<int64_t>(b);
      const int64_t shared = shared_pairs(s, i, j), either = s.patch_pairs(i) + s.patch_pairs(j) - shared;
      table[a][b] = table[b][a] = either == 0 ? 1.0 : static_cast<double>(shared) / static_cast<double>(either);
    }
  }
  return table;
}

}  // namespace fib::explorer
