// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace fib::cli {

inline Command bench_command() {
  return make_group({"bench", "measure speed and memory: attention alone, whole models, data", Topic::measures},
                    "Example: fib bench attention --tokens 196,784 --json");
}

}  // namespace fib::cli
