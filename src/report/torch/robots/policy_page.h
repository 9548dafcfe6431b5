// SPDX-License-Identifier: Apache-2.0
// A run that learned to act, as a page of fib report shows it.
#pragma once

#include <string>

#include "report/page/page.h"

namespace fib::report {

/// Whether the run learned to act. Throws std::runtime_error where there is no run.
bool is_policy_run(const std::string& directory);

/// The run plays the test seeds: its best, median and worst episode, and where its encoder looks.
PageRun policy_run(const std::string& directory);

}  // namespace fib::report
