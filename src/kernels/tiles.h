// SPDX-License-Identifier: Apache-2.0
// The tiles of one SIMD target: the same source compiled once for each.
#pragma once

#include <cstdint>

#include "kernels/call.h"
#include "kernels/workspace.h"

namespace fib::kernels {

template <class T>
using TileFunction = void (*)(const SupportCall<T>&, TileIndex, Workspace<T>&);

template <class T>
struct TileTable {
  const char* target;  ///< the name under which these very functions were compiled
  TileFunction<T> forward, backward_queries, backward_keys;
  TileFunction<T> average_tiles;  ///< of a row of tiles of summaries
};

/// Highway's bit of the target in use: set_simd_target, else FIB_TARGET, else the best.
int64_t chosen_target();

/// The table of a target, given as Highway's bit.
template <class T>
const TileTable<T>& tiles_of_target(int64_t target);

}  // namespace fib::kernels
