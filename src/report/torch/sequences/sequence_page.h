// SPDX-License-Identifier: Apache-2.0
// What the report page tells of decoders, and the plot of a forecast.
#pragma once

#include <string>
#include <vector>

#include "report/page/page.h"
#include "sequences/torch/series_task.h"

namespace fib::report {

/// Whether the run learned a text or a time series. Throws std::runtime_error where there is no run.
bool is_sequence_run(const std::string& directory);

/// The figures of its test, and what it writes, or forecasts where the table it learned from is still there.
PageRun sequence_run(const std::string& directory);

/// Steps of the forecast of one column.
std::vector<double> forecast_column(const sequences::Forecast& forecast, const sequences::Series& series,
                                    int64_t column);

/// A panel for each column: the end of what was seen, the forecast from step 0 and, where it is known, what came.
LinePlot forecast_plot(const sequences::Series& series, const sequences::Forecast& forecast, int64_t horizon);

}  // namespace fib::report
