// SPDX-License-Identifier: Apache-2.0
// Plots: curves in panels side by side; bars, dots or boxes, a category a line. Each becomes a Drawing, which is
// written as SVG or PNG. A legend stands above the data, never on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/axis.h"
#include "report/drawing.h"

namespace fib::report {

struct PlotPoint {
  double x = 0, y = 0;
  std::string label = {};  ///< written beside the point, unless that is on the axis; mostly empty
};

struct Series {
  std::string name;
  std::vector<PlotPoint> points;
  std::optional<size_t> color = {};  ///< of the palette; none: by its place among the names
};

struct Panel {
  std::string title, x_label, y_label;
  std::vector<Series> series;
  AxisOptions x = {}, y = {};
  bool lines = true;  ///< false: points alone
};

struct LinePlot {
  std::string title;
  std::vector<Panel> panels;  ///< a series has the same color in all of them
  size_t columns = 0;         ///< of small panels; 0: all side by side, larger
};

struct BarSeries {
  std::string name;
  std::vector<double> values;  ///< one per category; NaN leaves a gap
};

struct BarPlot {
  std::string title, value_label;
  std::vector<std::string> categories;
  std::vector<BarSeries> series;
  bool dots = false;  ///< points instead of bars, on an axis that need not begin at 0
};

/// From quartile to quartile with a line at the median and whiskers to the extremes.
struct Box {
  std::string name;
  double min = 0, q1 = 0, median = 0, q3 = 0, max = 0;
  bool reference = false;            ///< hollow: what others are compared with
  std::optional<size_t> color = {};  ///< of the palette; none: gray for a reference, one color for all others
};

struct BoxPlot {
  std::string title, value_label;
  std::vector<Box> boxes;
};

Drawing draw(const LinePlot& plot);
Drawing draw(const BarPlot& plot);
Drawing draw(const BoxPlot& plot);

}  // namespace fib::report
