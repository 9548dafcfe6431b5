// SPDX-License-Identifier: Apache-2.0
#include "base/processor.h"

#include <unistd.h>

namespace fib {

std::optional<std::string> openblas_core() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) return "SKYLAKEX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "HASWELL";
#endif
  return std::nullopt;
}

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
