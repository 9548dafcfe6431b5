// SPDX-License-Identifier: Apache-2.0
// Dense attention as its tiles see it, and the table of one SIMD target's functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/processor.h"
#include "kernels/call.h"
#include "kernels/workspace.h"

namespace fib::kernels {

/// Keys per block, about: with 64 channels a block's keys and values, 24 KB each, stay in the second-level cache while
/// every panel of a tile meets them, and a panel's strip, 6 KB, in the first. Fixed and not this machine's: a block is
/// where the softmax is scaled again, so another size gives other bits.
inline constexpr int64_t kDenseKeys = 96;
/// A block is at most half as long again, so that blocks can be about equal.
inline constexpr int64_t kDenseMostKeys = kDenseKeys * 3 / 2;
/// Panels per tile of forward, the unit of parallel work: 64 queries on AVX2.
inline constexpr int64_t kDensePanels = 4;
/// Panels whose strips are summed together into the gradients of keys: longer sums, fewer trips of dk and dv. The
/// layout of strips, so a constant.
inline constexpr int64_t kDenseGroup = 4;
/// Blocks of keys that a group of panels meets in backward while it is in the second-level cache, and they are too:
/// with 64 channels two blocks and their gradients, 200 KB, beside a group and its strips, 260 KB, are about half of 1
/// MB. No sum changes its order with it.
inline int64_t dense_span() { return std::max<int64_t>(1, caches().second / (512 * 1024)); }

/// How `keys` are cut: a short last block would cost as many trips of sums as a whole one. Whole groups of six rows,
/// the product's.
inline int64_t dense_block(int64_t keys) {
  const int64_t blocks = std::max<int64_t>(1, (keys + kDenseKeys / 2) / kDenseKeys);
  return std::min((keys + 6 * blocks - 1) / (6 * blocks) * 6, kDenseMostKeys);
}

template <class T>
struct DenseCall : AnyCall<T> {
  bool causal = false;
};

/// A tile of queries in forward, a whole head in backward.
struct DenseTile {
  int64_t b, h, tile;
};

/// Scratch of one thread.
template <class T>
struct DenseWorkspace {
  Buffer<T> queries, gradients, query_rows, gradient_rows, sums, lane_values;
  Buffer<T> keys, values, scores, products, dk, dv;
};

template <class T>
using DenseFunction = void (*)(const DenseCall<T>&, DenseTile, DenseWorkspace<T>&);

template <class T>
struct DenseTable {
  int64_t tile_queries;  ///< of forward
  DenseFunction<T> forward, backward;
};

/// The table of a target, given as Highway's bit.
template <class T>
const DenseTable<T>& dense_of_target(int64_t target);

}  // namespace fib::kernels
