// SPDX-License-Identifier: Apache-2.0
#include "engine/rows.h"

#include <algorithm>

#include "base/parallel.h"
#include "engine/simd_table.h"

namespace fib::engine {

void layer_norm(const NormRows& rows) {
  constexpr int64_t kRowsPerTask = 16;
  const SimdTable& table = simd_table();
  parallel_tasks((rows.rows + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t i) {
    table.layer_norm(rows, i * kRowsPerTask, std::min(rows.rows, (i + 1) * kRowsPerTask));
  });
}

}  // namespace fib::engine
