// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/policy_page.h"

#include <stdexcept>

#include "robots/robot.h"
#include "training/run/directory.h"

namespace fib::cli {

bool is_policy_run(const std::string& directory) {
  return robots::is_robot(training::RunFiles{directory}.recipe().task);
}

report::Page make_policy_page(const ReportArguments&, bool) {
  throw std::runtime_error("this fib was built without " FIB_ROBOTS_MISSING "; install it and build again");
}

}  // namespace fib::cli
