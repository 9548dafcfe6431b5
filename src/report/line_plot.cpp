// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "report/plot.h"
#include "report/plot_frame.h"

namespace fib::report {
namespace {

constexpr double kPanelGap = 20, kPanelHeader = 46;

/// Of the panels' data and axes.
struct PanelGrid {
  size_t columns, rows;
  double width, height;  ///< of one panel, texts included

  explicit PanelGrid(const LinePlot& plot) {
    const size_t panels = std::max<size_t>(1, plot.panels.size());
    columns = plot.columns == 0 ? panels : std::min(plot.columns, panels);
    rows = (panels + columns - 1) / columns;
    width = plot.columns == 0 ? 460 : 260;
    height = kPanelHeader + (plot.columns == 0 ? 270 : 130) + kXAxisHeight;
  }
  Rect place(size_t panel, double top) const {
    const size_t row = panel / columns, column = panel % columns;
    return {kPlotMargin + static_cast<double>(column) * (width + kPanelGap),
            top + static_cast<double>(row) * (height + kPanelGap), width, height};
  }
};

/// The entry of that name; the end where there is none.
auto entry_of(const std::vector<LegendEntry>& legend, const std::string& name) {
  return std::find_if(legend.begin(), legend.end(), [&](const LegendEntry& entry) { return entry.name == name; });
}

/// The names of all series, each once, with their colors.
std::vector<LegendEntry> series_legend(const LinePlot& plot) {
  std::vector<LegendEntry> legend;
  for (const Panel& panel : plot.panels)
    for (const Series& s : panel.series)
      if (entry_of(legend, s.name) == legend.end())
        legend.push_back({s.name, series_color(s.color.value_or(legend.size()))});
  return legend;
}

std::vector<double> coordinates(const Panel& panel, double PlotPoint::*which) {
  std::vector<double> values;
  for (const Series& s : panel.series)
    for (const PlotPoint& p : s.points) values.push_back(p.*which);
  return values;
}

bool has_labels(const Panel& panel) {
  const auto labelled = [](const PlotPoint& p) { return !p.label.empty(); };
  return std::any_of(panel.series.begin(), panel.series.end(),
                     [&](const Series& s) { return std::any_of(s.points.begin(), s.points.end(), labelled); });
}

/// One panel within `at`, axes and texts included.
class PanelDrawing {
 public:
  PanelDrawing(Drawing& drawing, const Panel& panel, const Rect& at)
      : drawing_(drawing),
        panel_(panel),
        x_(coordinates(panel, &PlotPoint::x), panel.x),
        y_(coordinates(panel, &PlotPoint::y), panel.y) {
    const double left = y_axis_width(y_), right = has_labels(panel) ? 44 : 12;
    area_ = {at.x + left, at.y + kPanelHeader, at.width - left - right, at.height - kPanelHeader - kXAxisHeight};
    Text title = plot_text({at.x, at.y + kLabelSize}, panel.title, kLabelSize, kPlotText);
    title.bold = true;
    drawing_.items.emplace_back(title);
    draw_y_axis(drawing_, area_, y_, panel.y_label);
    draw_x_axis(drawing_, area_, x_, panel.x_label, false);
  }

  void draw(const Series& series, Color color) {
    Stroke stroke{color, 2, {{}}};
    Dots dots{color, panel_.lines ? 3.0 : 5.0, {}};
    for (const PlotPoint& p : series.points) {
      const Point at = place(p);
      if (!std::isfinite(at.x) || !std::isfinite(at.y)) {
        stroke.lines.emplace_back();  // a gap
        continue;
      }
      stroke.lines.back().push_back(at);
      dots.centers.push_back(at);
      label(p, at, color);
    }
    std::erase_if(stroke.lines, [](const std::vector<Point>& line) { return line.size() < 2; });
    if (panel_.lines) drawing_.items.emplace_back(std::move(stroke));
    drawing_.items.emplace_back(std::move(dots));
  }

 private:
  Point place(const PlotPoint& p) const {
    return {area_.x + area_.width * x_.place(p.x), area_.y + area_.height * (1 - y_.place(p.y))};
  }

  void label(const PlotPoint& p, Point at, Color color) {
    // Lower, it would stand on the axis.
    if (p.label.empty() || y_.place(p.y) < 0.08) return;
    drawing_.items.emplace_back(plot_text({at.x + 7, at.y + kTickSize}, p.label, kTickSize, color));
  }

  Drawing& drawing_;
  const Panel& panel_;
  Axis x_, y_;
  Rect area_{};
};

}  // namespace

Drawing draw(const LinePlot& plot) {
  const std::vector<LegendEntry> legend = series_legend(plot);
  const PanelGrid grid(plot);
  Drawing drawing;
  const auto gaps = [](size_t count) { return static_cast<double>(count - 1) * kPanelGap; };
  drawing.width = 2 * kPlotMargin + static_cast<double>(grid.columns) * grid.width + gaps(grid.columns);
  const double top = draw_heading(drawing, plot.title, legend);
  drawing.height = top + static_cast<double>(grid.rows) * grid.height + gaps(grid.rows) + kPlotMargin / 2;
  for (size_t i = 0; i < plot.panels.size(); ++i) {
    PanelDrawing drawn(drawing, plot.panels[i], grid.place(i, top));
    for (const Series& s : plot.panels[i].series) drawn.draw(s, entry_of(legend, s.name)->color);
  }
  return drawing;
}

}  // namespace fib::report
