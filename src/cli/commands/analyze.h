// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace fib::cli {

inline Command analyze_command() {
  return make_group({"analyze", "the paper's analyses: diversity, inductive bias, maps, corruptions", Topic::trained},
                    "Example: fib analyze diversity --run runs/full --run runs/fibottention --plot diversity.svg");
}

}  // namespace fib::cli
