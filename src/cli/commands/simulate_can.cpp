// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_arm.h"

namespace fib::cli {

Command simulate_can_command() { return simulate_arm_command("simulate can"); }

}  // namespace fib::cli
