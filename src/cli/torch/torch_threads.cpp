// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>

#include "base/parallel.h"
#include "cli/torch/train_session.h"

namespace fib::cli {
namespace {

/// Beside OpenMP's threads torch has a pool of its own, at first as large as the machine. Every thread of OpenMP that
/// meets torch makes it anew, before the old one is gone. One is to spare: where memory is what limits them, each takes
/// more of it once it runs.
int64_t threads_at_once(int64_t threads) {
  const int64_t first_pool = std::max<int64_t>(1, ::sysconf(_SC_NPROCESSORS_CONF));
  constexpr int64_t kSpare = 1;
  return std::max(threads, first_pool) + 2 * (threads - 1) + kSpare;
}

/// Now, while there is room for all: later the memory of a model may have taken it.
void start_threads() {
#pragma omp parallel
  at::get_num_threads();
}

}  // namespace

void use_torch_threads(int64_t threads, int64_t beside) {
  static int64_t started = 0;
  if (threads == started) return require_threads(1 + beside);
  require_threads(threads_at_once(threads) + beside);
  omp_set_num_threads(static_cast<int>(threads));
  at::set_num_threads(static_cast<int>(threads));
  start_threads();
  started = threads;
}

}  // namespace fib::cli
