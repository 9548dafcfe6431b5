// SPDX-License-Identifier: Apache-2.0
// The page of fib report about policies; cli/torch/robots makes it, cli/torch/without_robots refuses.
#pragma once

#include <string>

#include "cli/commands/report.h"
#include "report/page/page.h"

namespace fib::cli {

/// Whether the run learned to act. Throws std::runtime_error where there is no run.
bool is_policy_run(const std::string& directory);

/// Every run plays the test seeds.
report::Page make_policy_page(const ReportArguments& arguments, bool quiet);

/// Heading and footer, in cli/torch/report.cpp.
void add_title(report::Page& page, const ReportArguments& arguments);

}  // namespace fib::cli
