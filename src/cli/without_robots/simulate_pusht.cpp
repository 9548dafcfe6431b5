// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_pusht.h"

#include <stdexcept>

namespace fib::cli {

void simulate_pusht(const SimulatePushtArguments&, const Globals&) {
  throw std::runtime_error("this fib was built without " FIB_ROBOTS_MISSING "; install it and build again");
}

}  // namespace fib::cli
