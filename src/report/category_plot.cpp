// SPDX-License-Identifier: Apache-2.0
// Bars, dots and boxes lie on their sides, a category a line: names of any length can be read.
#include <algorithm>
#include <cmath>

#include "report/plot.h"
#include "report/plot_frame.h"

namespace fib::report {
namespace {

constexpr double kAreaWidth = 460, kBarHeight = 12, kDotRow = 26, kBoxRow = 40, kRowGap = 10;

/// Names to the left, a value axis below, and rows of equal height between them.
class CategoryFrame {
 public:
  CategoryFrame(Drawing& drawing, const std::vector<std::string>& names, double row_height)
      : drawing_(drawing), row_height_(row_height) {
    for (const std::string& name : names) left_ = std::max(left_, plot_text_width(name, kLabelSize) + 10);
    area_ = {kPlotMargin + left_, 0, kAreaWidth, row_height * static_cast<double>(names.size())};
    drawing.width = area_.x + kAreaWidth + 2 * kPlotMargin;
  }

  /// The parts above and below the rows; `axis` stays valid as long as the frame is used.
  void draw(const std::string& title, const std::vector<LegendEntry>& legend, const std::vector<std::string>& names,
            const Axis& axis, const std::string& label) {
    axis_ = &axis;
    area_.y = draw_heading(drawing_, title, legend);
    drawing_.height = area_.y + area_.height + kXAxisHeight + kPlotMargin / 2;
    draw_x_axis(drawing_, area_, axis, label, true);
    for (size_t i = 0; i < names.size(); ++i)
      drawing_.items.emplace_back(
          plot_text({area_.x - 10, middle(i) + 0.35 * kLabelSize}, names[i], kLabelSize, kPlotText, Align::end));
  }

  double middle(size_t row) const { return area_.y + row_height_ * (static_cast<double>(row) + 0.5); }
  double x(double value) const { return area_.x + area_.width * axis_->place(value); }

 private:
  Drawing& drawing_;
  const Axis* axis_ = nullptr;
  double row_height_, left_ = 0;
  Rect area_{};
};

std::vector<double> all_values(const BarPlot& plot) {
  std::vector<double> values;
  for (const BarSeries& s : plot.series) values.insert(values.end(), s.values.begin(), s.values.end());
  return values;
}

Fill bars_of(const CategoryFrame& frame, const BarPlot& plot, size_t series) {
  Fill bars{series_color(series), {}, {}};
  const double count = static_cast<double>(plot.series.size());
  for (size_t c = 0; c < plot.categories.size(); ++c) {
    const double value = plot.series[series].values[c];
    if (!std::isfinite(value)) continue;
    const double top = frame.middle(c) + kBarHeight * (static_cast<double>(series) - count / 2);
    const auto [left, right] = std::minmax({frame.x(0), frame.x(value)});
    bars.rects.push_back({left, top, right - left, kBarHeight - 1});
  }
  return bars;
}

Dots dots_of(const CategoryFrame& frame, const BarPlot& plot, size_t series) {
  Dots dots{series_color(series), 5, {}};
  for (size_t c = 0; c < plot.categories.size(); ++c) {
    const double value = plot.series[series].values[c];
    if (std::isfinite(value)) dots.centers.push_back({frame.x(value), frame.middle(c)});
  }
  return dots;
}

void draw_box(Drawing& drawing, const CategoryFrame& frame, const Box& box, size_t row) {
  const Color color = series_color(box.color.value_or(box.reference ? 0 : 1));
  const double y = frame.middle(row), half = 11, low = frame.x(box.q1), high = frame.x(box.q3);
  Fill body{color, {{low, y - half, high - low, 2 * half}}, {}};
  body.opacity = 0.25;
  if (!box.reference) drawing.items.emplace_back(std::move(body));
  const auto upright = [&](double value, double reach) {
    return std::vector<Point>{{frame.x(value), y - reach}, {frame.x(value), y + reach}};
  };
  drawing.items.emplace_back(
      Stroke{color,
             1.5,
             {{{frame.x(box.min), y}, {low, y}},
              {{high, y}, {frame.x(box.max), y}},
              upright(box.min, half / 2),
              upright(box.max, half / 2),
              {{low, y - half}, {high, y - half}, {high, y + half}, {low, y + half}, {low, y - half}}}});
  drawing.items.emplace_back(Stroke{color, 3, {upright(box.median, half)}});
}

}  // namespace

Drawing draw(const BarPlot& plot) {
  std::vector<LegendEntry> legend;
  for (size_t s = 0; s < plot.series.size(); ++s) legend.push_back({plot.series[s].name, series_color(s)});
  const double row = plot.dots ? kDotRow : kBarHeight * static_cast<double>(plot.series.size()) + kRowGap;
  const Axis axis(all_values(plot), {.from_zero = !plot.dots});
  Drawing drawing;
  CategoryFrame frame(drawing, plot.categories, row);
  frame.draw(plot.title, legend, plot.categories, axis, plot.value_label);
  for (size_t s = 0; s < plot.series.size(); ++s) {
    if (plot.dots) {
      drawing.items.emplace_back(dots_of(frame, plot, s));
    } else {
      drawing.items.emplace_back(bars_of(frame, plot, s));
    }
  }
  return drawing;
}

Drawing draw(const BoxPlot& plot) {
  std::vector<std::string> names;
  std::vector<double> values;
  for (const Box& box : plot.boxes) {
    names.push_back(box.name);
    values.insert(values.end(), {box.min, box.max});
  }
  const Axis axis(values, {.from_zero = true});
  Drawing drawing;
  CategoryFrame frame(drawing, names, kBoxRow);
  frame.draw(plot.title, {}, names, axis, plot.value_label);
  for (size_t i = 0; i < plot.boxes.size(); ++i) draw_box(drawing, frame, plot.boxes[i], i);
  return drawing;
}

}  // namespace fib::report
