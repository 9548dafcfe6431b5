// SPDX-License-Identifier: Apache-2.0
// Dense attention as its tiles see it, and the table of one SIMD target's functions.
#pragma once

#include <cstdint>

#include "kernels/call.h"
#include "kernels/workspace.h"

namespace fib::kernels {

/// Keys per block: with 64 channels a block's keys and values, 24 KB each, stay in the second-level cache while every
/// panel of a tile meets them, and a panel's strip, 6 KB, in the first.
inline constexpr int64_t kDenseKeys = 96;
/// Panels per tile of forward, the unit of parallel work: 64 queries on AVX2.
inline constexpr int64_t kDensePanels = 4;
/// Panels whose strips are summed together into the gradients of keys: longer sums, fewer trips of dk and dv.
inline constexpr int64_t kDenseGroup = 2;

template <class T>
struct DenseCall : Arguments<T> {
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
