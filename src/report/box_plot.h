// SPDX-License-Identifier: Apache-2.0
// Boxes from quartile to quartile with a line at the median and whiskers to the extremes, drawn by gnuplot.
#pragma once

#include <string>
#include <vector>

#include "report/gnuplot.h"

namespace fib::report {

struct Box {
  std::string name;
  double min = 0, q1 = 0, median = 0, q3 = 0, max = 0;
  bool reference = false;  ///< grey: what others are compared with
};

struct BoxPlot {
  std::string title, y_label;
  std::vector<Box> boxes;
};

std::string box_plot_script(const BoxPlot& plot);
PlotSize box_plot_size(const BoxPlot& plot);

/// Writes an SVG or PNG file; see draw_with_gnuplot for what it throws.
void write_plot(const BoxPlot& plot, const std::string& path);

}  // namespace fib::report
