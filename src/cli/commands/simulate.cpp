// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

namespace fib::cli {

Command simulate_command() {
  return make_group(
      {"simulate", "a robot's world: recorded actions played again, or episodes from seeds", Topic::measures},
      "Example: fib simulate pusht --replay zarr:DIR");
}

}  // namespace fib::cli
