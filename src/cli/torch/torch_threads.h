// SPDX-License-Identifier: Apache-2.0
// How many threads torch computes with.
#pragma once

#include <cstdint>

namespace fib::cli {

/// OpenMP's and torch's. Throws std::runtime_error with one line unless the system grants all that come of it, and
/// `beside` more: torch waits for ever for those that it does not get.
void use_torch_threads(int64_t threads, int64_t beside = 0);

}  // namespace fib::cli
