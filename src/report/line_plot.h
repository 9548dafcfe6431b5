// SPDX-License-Identifier: Apache-2.0
// Curves in one or more panels side by side, drawn by gnuplot.
#pragma once

#include <string>
#include <vector>

namespace fib::report {

struct PlotPoint {
  double x = 0;
  double y = 0;
  std::string label;  ///< written beside the point, unless that is on the axis; mostly empty
};

struct Series {
  std::string name;
  std::vector<PlotPoint> points;
};

struct Panel {
  std::string title;
  std::string y_label;
  std::vector<Series> series;
};

struct LinePlot {
  std::string title;
  std::string x_label;
  std::vector<Panel> panels;  ///< a series has the same colour in all of them
  bool from_zero = true;      ///< false: the axis shows the range of the values
};

/// Writes an SVG or PNG file, whole or not at all; see draw_with_gnuplot for what it throws.
void write_plot(const LinePlot& plot, const std::string& path);

}  // namespace fib::report
