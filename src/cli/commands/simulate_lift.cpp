// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_arm.h"

namespace fib::cli {

Command simulate_lift_command() { return simulate_arm_command("simulate lift"); }

}  // namespace fib::cli
