// SPDX-License-Identifier: Apache-2.0
// Which symbol comes next, drawn from logits.
#pragma once

#include <cstdint>
#include <span>

#include "base/rng.h"

namespace fib::sequences {

struct SamplingOptions {
  double temperature = 1;  ///< divides the logits; 0: the most probable symbol, always
  int64_t top_k = 0;       ///< of so many most probable symbols; 0: of all
};

/// One uniform number of `rng` for each symbol that is drawn.
int32_t draw_symbol(std::span<const float> logits, const SamplingOptions& options, CounterRng& rng);

}  // namespace fib::sequences
