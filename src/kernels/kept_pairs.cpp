// SPDX-License-Identifier: Apache-2.0
#include "kernels/kept_pairs.h"

#include <algorithm>

namespace fib::kernels {
namespace {

/// More is not kept at a time: a bound of memory. Fixed, because keys that compute their pairs again give other bits.
constexpr int64_t kMostBytes = int64_t{32} << 20;
/// So many tasks, heads or tiles, keep a dozen threads evenly busy.
constexpr int64_t kManyTasks = 64;

/// 0 where explicit pairs have no row.
int64_t rows_of(const SupportSet& support) {
  int64_t most = 0;
  for (int64_t h = 0; h < support.num_heads(); ++h) {
    const SupportSet::Head& head = support.head(h);
    if (!head.pairs.empty()) return 0;
    const auto offsets = static_cast<int64_t>(head.offsets.size() + head.neighbors.size());
    most = std::max(most, 2 * support.cls() + 1 + 2 * offsets);
  }
  return most;
}

}  // namespace

template <class T>
KeptPairsPlan plan_kept_pairs(const SupportCall<T>& call) {
  // With masking zero keys wait for the queries of all heads, and a bias gradient may be shared by heads.
  if (call.options.masking == Masking::zero || call.gradients.dbias.data != nullptr) return {};
  const int64_t rows = rows_of(*call.support), heads = call.shape.batch * call.shape.heads;
  const int64_t bytes = 2 * rows * call.shape.query_tokens * static_cast<int64_t>(sizeof(T));
  if (rows == 0 || bytes > kMostBytes) return {};
  // Fewer heads at a time leave more of the caches to each; as equal parts as can be.
  const int64_t parts = std::max(heads * call.query_chunks.tiles / kManyTasks, 1 + heads * bytes / kMostBytes);
  return {rows, heads >= kManyTasks, std::max<int64_t>(1, (heads + parts - 1) / parts)};
}

template KeptPairsPlan plan_kept_pairs(const SupportCall<float>&);
template KeptPairsPlan plan_kept_pairs(const SupportCall<double>&);

}  // namespace fib::kernels
