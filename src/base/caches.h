// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fib {

/// Bytes of the caches that a core has for itself.
struct Caches {
  int64_t first, second;
};

/// What this machine tells; 32 KB and 512 KB where it does not.
const Caches& caches();

}  // namespace fib
