// SPDX-License-Identifier: Apache-2.0
#include "attention/topk.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace fib::attention {
namespace {

template <class T>
bool comes_before(const ScoredKey<T>& a, const ScoredKey<T>& b) {
  if (a.score > b.score) return true;
  if (a.score < b.score) return false;
  const bool a_is_nan = std::isnan(a.score), b_is_nan = std::isnan(b.score);
  return a_is_nan == b_is_nan ? a.key < b.key : a_is_nan;
}

}  // namespace

template <class T>
void keep_largest(std::vector<ScoredKey<T>>& scored, int64_t k) {
  const auto count = static_cast<int64_t>(scored.size());
  const auto end = scored.begin() + static_cast<ptrdiff_t>(std::min(k, count));
  // A heap of few is fastest; of many, one pass apart and a sort.
  constexpr int64_t kFew = 64;
  if (k * kFew <= count || k >= count) {
    std::partial_sort(scored.begin(), end, scored.end(), comes_before<T>);
  } else {
    std::nth_element(scored.begin(), end - 1, scored.end(), comes_before<T>);
    std::sort(scored.begin(), end, comes_before<T>);
  }
  scored.erase(end, scored.end());
}

template void keep_largest(std::vector<ScoredKey<float>>& scored, int64_t k);
template void keep_largest(std::vector<ScoredKey<double>>& scored, int64_t k);

}  // namespace fib::attention
