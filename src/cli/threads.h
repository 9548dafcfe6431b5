// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace fib::cli {

/// As many OpenMP threads as were asked for, or an error.
void use_threads(const Globals& globals);

}  // namespace fib::cli
