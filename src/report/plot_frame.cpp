// SPDX-License-Identifier: Apache-2.0
#include "report/plot_frame.h"

#include <algorithm>

#include "base/text.h"
#include "report/text.h"

namespace fib::report {
namespace {

/// Titles are ours, and say what was measured.
constexpr size_t kMostCharacters = 60, kMostOfTitle = 120;
constexpr double kTickLength = 4, kTickGap = 6, kLegendRow = 20, kSwatch = 18;

/// Once more where escaping has made it longer.
std::string shown_text(const std::string& line, size_t most = kMostCharacters) {
  return printable(printable(line, most), most);
}

}  // namespace

Text plot_text(Point at, const std::string& line, double size, Color color, Align align) {
  return {.at = at, .line = shown_text(line), .size = size, .color = color, .align = align};
}

double plot_text_width(const std::string& line, double size) {
  return text_width(display_width(shown_text(line)), size);
}

double draw_heading(Drawing& drawing, const std::string& title, const std::vector<LegendEntry>& legend) {
  double y = kPlotMargin;
  if (!title.empty()) {
    y += kTitleSize;
    Text text{.at = {kPlotMargin, y},
              .line = shown_text(title, kMostOfTitle),
              .size = kTitleSize,
              .bold = true,
              .color = kPlotText};
    drawing.width = std::max(drawing.width, 2 * kPlotMargin + text_width(display_width(text.line), kTitleSize));
    drawing.items.emplace_back(std::move(text));
    y += 10;
  }
  if (legend.empty()) return y;
  double x = kPlotMargin;
  for (const LegendEntry& entry : legend) {
    const double width = kSwatch + 6 + plot_text_width(entry.name, kLabelSize) + 14;
    if (x > kPlotMargin && x + width > drawing.width) x = kPlotMargin, y += kLegendRow;
    drawing.items.emplace_back(Fill{entry.color, {{x, y + 5, kSwatch, 5}}, {}});
    drawing.items.emplace_back(plot_text({x + kSwatch + 6, y + 12}, entry.name, kLabelSize, kPlotText));
    x += width;
    drawing.width = std::max(drawing.width, x);
  }
  return y + kLegendRow + 6;
}

void draw_x_axis(Drawing& drawing, const Rect& at, const Axis& axis, const std::string& label, bool grid) {
  const double bottom = at.y + at.height;
  Stroke lines{kPlotGrid, 1, {}}, marks{kPlotMuted, 1, {{{at.x, bottom}, {at.x + at.width, bottom}}}};
  for (const Tick& tick : axis.ticks()) {
    const double x = at.x + at.width * axis.place(tick.value);
    if (grid) lines.lines.push_back({{x, at.y}, {x, bottom}});
    marks.lines.push_back({{x, bottom}, {x, bottom + kTickLength}});
    drawing.items.emplace_back(
        plot_text({x, bottom + kTickLength + kTickSize + 2}, tick.text, kTickSize, kPlotMuted, Align::middle));
  }
  drawing.items.emplace_back(std::move(lines));
  drawing.items.emplace_back(std::move(marks));
  drawing.items.emplace_back(
      plot_text({at.x + at.width / 2, bottom + kXAxisHeight - 8}, label, kLabelSize, kPlotText, Align::middle));
}

void draw_y_axis(Drawing& drawing, const Rect& at, const Axis& axis, const std::string& label) {
  Stroke lines{kPlotGrid, 1, {}};
  for (const Tick& tick : axis.ticks()) {
    const double y = at.y + at.height * (1 - axis.place(tick.value));
    lines.lines.push_back({{at.x, y}, {at.x + at.width, y}});
    drawing.items.emplace_back(
        plot_text({at.x - kTickGap, y + 0.35 * kTickSize}, tick.text, kTickSize, kPlotMuted, Align::end));
  }
  drawing.items.emplace_back(std::move(lines));
  drawing.items.emplace_back(plot_text({at.x - y_axis_width(axis), at.y - 10}, label, kTickSize, kPlotMuted));
}

double y_axis_width(const Axis& axis) {
  double widest = 0;
  for (const Tick& tick : axis.ticks()) widest = std::max(widest, plot_text_width(tick.text, kTickSize));
  return widest + kTickGap;
}

}  // namespace fib::report
