// SPDX-License-Identifier: Apache-2.0
#include "base/caches.h"

#include <unistd.h>

namespace fib {
namespace {

int64_t told(int name, int64_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

}  // namespace

const Caches& caches() {
  static const Caches found{told(_SC_LEVEL1_DCACHE_SIZE, 32 << 10), told(_SC_LEVEL2_CACHE_SIZE, 512 << 10)};
  return found;
}

}  // namespace fib
