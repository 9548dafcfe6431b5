// SPDX-License-Identifier: Apache-2.0
// Whether the gradients of keys take the probabilities from those of queries instead of computing them again.
#pragma once

#include <cstdint>

#include "kernels/call.h"

namespace fib::kernels {

/// By shape alone, so that results do not depend on the number of threads.
struct KeptPairsPlan {
  int64_t rows = 0;           ///< of the head that has most of them; 0 if nothing is kept
  bool by_heads = false;      ///< a task is a head, and each thread keeps the pairs of one
  int64_t heads_at_once = 0;  ///< else: so many heads' pairs are kept, and tasks are their tiles
};

template <class T>
KeptPairsPlan plan_kept_pairs(const SupportCall<T>& call);

}  // namespace fib::kernels
