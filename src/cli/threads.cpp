// SPDX-License-Identifier: Apache-2.0
#include "cli/threads.h"

#include <omp.h>

#include "base/parallel.h"

namespace fib::cli {

void use_threads(const Globals& globals) {
  require_threads(globals.threads);
  omp_set_num_threads(static_cast<int>(globals.threads));
}

}  // namespace fib::cli
