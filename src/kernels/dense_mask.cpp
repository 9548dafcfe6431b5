// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense_mask.h"

#include <algorithm>
#include <limits>

#include "base/parallel.h"

namespace fib::kernels {
namespace {

/// Of memory, not of a cache: a larger mask would rival the inputs; explicit pairs themselves take twice as much.
constexpr int64_t kMostMaskBytes = int64_t{64} << 20;

/// From this share of explicit pairs on the dense kernel is faster, forward and backward together: an explicit pair is
/// computed by itself, which costs as much as four pairs of the dense product where its channels fill vectors, and as
/// much as ten where a dot product is mostly a sum across lanes. A ratio of two computations that grow with the
/// processor's vectors alike; fixed, because the two ways give other bits.
double least_share(int64_t channels) { return channels <= 16 ? 0.1 : 0.25; }

/// Keys of one query; with a causal support those behind it are left out.
template <class T>
void allow_row(const SupportSet& support, const SupportSet::Head& head, int64_t query, T* row) {
  const int64_t tokens = support.key_tokens(), cls = support.cls(), end = support.causal() ? query + 1 : tokens;
  std::fill_n(row, query < cls ? end : std::min(cls, end), T(0));
  for (const int32_t key : head.pairs.keys_of(query)) row[key] = T(0);
  if (query < cls) return;
  if (head.diagonal) row[query] = T(0);
  for (const int64_t offset : head.offsets) {
    if (query - offset >= cls) row[query - offset] = T(0);
    if (query + offset < end) row[query + offset] = T(0);
  }
  for (const GridOffset& g : head.neighbors) {
    if (query - g.offset >= cls && g.contains(query - g.offset - cls)) row[query - g.offset] = T(0);
    if (query + g.offset < end && g.contains(query - cls)) row[query + g.offset] = T(0);
  }
}

template <class T>
std::unique_ptr<T[]> make_mask(const SupportSet& support) {
  const int64_t queries = support.query_tokens(), keys = support.key_tokens();
  auto mask = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(support.num_heads() * queries * keys));
  parallel_tasks(support.num_heads(), [&](int64_t h) {
    T* row = mask.get() + h * queries * keys;
    std::fill_n(row, queries * keys, -std::numeric_limits<T>::infinity());
    for (int64_t query = 0; query < queries; ++query, row += keys) allow_row(support, support.head(h), query, row);
  });
  return mask;
}

}  // namespace

template <class T>
bool dense_is_faster(const SupportSet& support, const AttentionShape& shape, const AttentionOptions<T>& options) {
  if (options.masking == Masking::zero || options.bias.data != nullptr || support.summaries()) return false;
  const int64_t all = support.num_heads() * support.query_tokens() * support.key_tokens();
  if (all * static_cast<int64_t>(sizeof(T)) > kMostMaskBytes) return false;
  int64_t explicit_pairs = 0;
  for (int64_t h = 0; h < support.num_heads(); ++h) explicit_pairs += support.head(h).pairs.size();
  return static_cast<double>(explicit_pairs) >
         least_share(std::max(shape.dim, shape.value_dim)) * static_cast<double>(all);
}

template <class T>
Masked<T> make_masked(const SupportSet& support, const AttentionOptions<T>& options) {
  Masked<T> masked{make_mask<T>(support), {options}};
  const int64_t queries = support.query_tokens(), keys = support.key_tokens();
  masked.options.bias = {
      .data = masked.mask.get(), .head_stride = queries * keys, .query_stride = keys, .key_stride = 1};
  return masked;
}

#define FIB_INSTANTIATE(T)                                                                                \
  template bool dense_is_faster<T>(const SupportSet&, const AttentionShape&, const AttentionOptions<T>&); \
  template Masked<T> make_masked<T>(const SupportSet&, const AttentionOptions<T>&);
FIB_INSTANTIATE(float)
FIB_INSTANTIATE(double)
#undef FIB_INSTANTIATE

}  // namespace fib::kernels
