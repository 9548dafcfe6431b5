// SPDX-License-Identifier: Apache-2.0
// `fib simulate` for the tasks of an arm: the same for each of them.
#pragma once

#include "cli/command.h"

namespace fib::cli {

/// `title` is "simulate" and the task's name.
Command simulate_arm_command(const char* title);

}  // namespace fib::cli
