// SPDX-License-Identifier: Apache-2.0
// What all plots have around their data: texts, a legend, axes with a grid.
#pragma once

#include <string>
#include <vector>

#include "report/axis.h"
#include "report/drawing.h"

namespace fib::report {

inline constexpr double kTitleSize = 16, kLabelSize = 13, kTickSize = 12, kPlotMargin = 16;

/// A line of text; names from outside are shortened and cannot leave it.
Text plot_text(Point at, const std::string& line, double size, Color color, Align align = Align::start);
/// Room for a line that plot_text makes.
double plot_text_width(const std::string& line, double size);

struct LegendEntry {
  std::string name;
  Color color;
};

/// Title, and below it a legend in as many rows as the width needs; where one name alone is wider, the drawing becomes
/// so too. Returns where the data may begin.
double draw_heading(Drawing& drawing, const std::string& title, const std::vector<LegendEntry>& legend);

/// Ticks below the area `at`, with lines across it where `grid`.
void draw_x_axis(Drawing& drawing, const Rect& at, const Axis& axis, const std::string& label, bool grid);
/// Ticks to the left, with lines across; the label stands above the axis, where it need not be turned.
void draw_y_axis(Drawing& drawing, const Rect& at, const Axis& axis, const std::string& label);
/// What the texts of a y axis need to the left of it.
double y_axis_width(const Axis& axis);
/// What ticks and label need below an area.
inline constexpr double kXAxisHeight = 46;

}  // namespace fib::report
