// SPDX-License-Identifier: Apache-2.0
// Training runs side by side: loss and accuracy by epoch, and accuracy by time.
#pragma once

#include <string>
#include <vector>

#include "report/run_record.h"

namespace fib::report {

struct CurvePlot {
  std::string title;
  std::string script;  ///< for gnuplot
};
/// Loss and accuracy by epoch, accuracy by time; what no run has is left out.
std::vector<CurvePlot> run_curve_panels(const std::vector<RunRecord>& runs);

/// Writes an SVG or PNG; see draw_with_gnuplot for what it throws.
void draw_run_curves(const std::vector<RunRecord>& runs, const std::string& path);

}  // namespace fib::report
