// SPDX-License-Identifier: Apache-2.0
// Training runs side by side: loss and accuracy by epoch, and accuracy by time.
#pragma once

#include <vector>

#include "report/plot.h"
#include "report/run_record.h"

namespace fib::report {

/// Loss and accuracy by epoch, accuracy by time; what no run has is left out.
std::vector<Panel> run_curve_panels(const std::vector<RunRecord>& runs);

}  // namespace fib::report
