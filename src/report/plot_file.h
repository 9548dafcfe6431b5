// SPDX-License-Identifier: Apache-2.0
// Curves that were measured and kept: {"title", "x": {"label", "log"}, "y": {…}, "series": [{"name", "points": [[x, y],
// …]}]}, whatever else the file says of where they come from.
#pragma once

#include <string>

#include "report/plot.h"

namespace fib::report {

/// Throws std::runtime_error with one line that names the file and what it lacks.
LinePlot read_plot_file(const std::string& file);

}  // namespace fib::report
