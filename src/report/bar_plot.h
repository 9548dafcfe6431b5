// SPDX-License-Identifier: Apache-2.0
// Bars, or dots, for each category, drawn by gnuplot.
#pragma once

#include <string>
#include <vector>

#include "report/gnuplot.h"

namespace fib::report {

struct BarSeries {
  std::string name;
  std::vector<double> values;  ///< one per category; NaN leaves a gap
};

struct BarPlot {
  std::string title, y_label;
  std::vector<std::string> categories;
  std::vector<BarSeries> series;
  bool dots = false;  ///< points instead of bars, on an axis that need not begin at 0
};

std::string bar_plot_script(const BarPlot& plot);
PlotSize bar_plot_size(const BarPlot& plot);

/// Writes an SVG or PNG file; see draw_with_gnuplot for what it throws.
void write_plot(const BarPlot& plot, const std::string& path);

}  // namespace fib::report
