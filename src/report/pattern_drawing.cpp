// SPDX-License-Identifier: Apache-2.0
#include "report/pattern_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/drawing.h"
#include "report/text.h"

namespace fib::report {
namespace {

constexpr MaskColors kMask{.ground = kMaskGround,
                           .offsets = kMaskOffset,
                           .cls = kMaskClass,
                           .random = kMaskListed,
                           .neighbors = kMaskNeighbor,
                           .summaries = kMaskSummary};

constexpr double kMargin = 28, kGap = 26, kTitle = 22, kBody = 15, kCaption = 14, kLine = 20, kHeader = 104;
constexpr int64_t kMaxPanels = 256;

/// Columns that leave the last row fullest, among those that make the image a little wider than high.
int64_t column_count(int64_t panels) {
  const double ideal = std::sqrt(static_cast<double>(panels) * 4.0 / 3.0);
  const auto waste = [&](int64_t c) { return (c - panels % c) % c; };
  const int64_t first = static_cast<int64_t>(std::sqrt(static_cast<double>(panels)));
  const int64_t last = static_cast<int64_t>(std::ceil(std::sqrt(2.0 * static_cast<double>(panels))));
  int64_t best = first;
  for (int64_t c = first; c <= std::min(last, panels); ++c) {
    const bool closer = std::abs(static_cast<double>(c) - ideal) < std::abs(static_cast<double>(best) - ideal);
    if (waste(c) < waste(best) || (waste(c) == waste(best) && closer)) best = c;
  }
  return best;
}

/// Many heads get smaller panels; the image shall still fit a screen or a page.
double panel_room(int64_t panels, PatternSize size) {
  if (size == PatternSize::page) return 140;
  return panels <= 16 ? 400 : panels <= 36 ? 300 : 220;
}

/// A column must hold its captions.
double narrowest_column(PatternSize size) { return size == PatternSize::page ? 164 : 220; }

struct Layout {
  int64_t panels, columns;
  MaskPanel panel;
  double column_width, row_height;

  Layout(const SupportSet& s, PatternSize size)
      : panels(std::min(s.num_heads(), kMaxPanels)),
        columns(column_count(panels)),
        panel(MaskPanel::fitting(s, panel_room(panels, size))),
        column_width(std::max(panel.width, narrowest_column(size))),
        row_height(panel.side + 2 * kLine + kGap) {}

  Point origin(int64_t i) const {
    const int64_t row = i / columns, column = i % columns;
    return {kMargin + static_cast<double>(column) * (column_width + kGap),
            kHeader + static_cast<double>(row) * row_height};
  }
  double width() const { return 2 * kMargin + static_cast<double>(columns) * (column_width + kGap) - kGap; }
  double height() const {
    const int64_t rows = (panels + columns - 1) / columns;
    return kHeader + static_cast<double>(rows) * row_height + 6;
  }
};

std::string totals(const SupportSet& s) {
  std::string text = fmt::format("{} pairs, {:.2f} % pruned", grouped(s.patch_pairs()), 100.0 * s.pruning_ratio());
  if (s.cls() > 0) text += fmt::format(" ({:.2f} % with class tokens)", 100.0 * s.pruning_ratio_with_cls());
  if (s.num_heads() > kMaxPanels) text += fmt::format(", first {} heads drawn", kMaxPanels);
  return text;
}

struct PairKind {
  Color color;
  std::string label;
};

/// Only what some head has.
std::vector<PairKind> pair_kinds(const SupportSet& s) {
  bool offsets = false, diagonal = false, neighbors = false;
  int64_t listed = 0;
  for (int64_t h = 0; h < s.num_heads(); ++h) {
    offsets |= !s.head(h).offsets.empty();
    diagonal |= s.head(h).diagonal;
    neighbors |= !s.head(h).neighbors.empty();
    listed = std::max(listed, s.head(h).pairs.size());
  }
  std::vector<PairKind> entries;
  if (diagonal) entries.push_back({kMask.offsets, "offset (0: the token itself)"});
  if (offsets && !diagonal) entries.push_back({kMask.offsets, "offset"});
  if (s.cls() > 0) entries.push_back({kMask.cls, "class token"});
  if (neighbors) entries.push_back({kMask.neighbors, "neighbor on the grid"});
  if (s.summaries()) entries.push_back({kMask.summaries, fmt::format("{} summaries", s.summaries()->count())});
  const std::string part = listed > kMaxDots ? fmt::format(" ({} per head drawn)", grouped(kMaxDots)) : "";
  if (listed > 0) entries.push_back({kMask.random, "random pair" + part});
  return entries;
}

double draw_legend(Drawing& drawing, const SupportSet& s) {
  double x = kMargin;
  for (const auto& [color, label] : pair_kinds(s)) {
    drawing.items.emplace_back(Fill{color, {{x, kHeader - 28, 11, 11}}, {}});
    drawing.items.emplace_back(Text{{x + 18, kHeader - 18}, label, kCaption, false, kMaskCaption});
    x += 18 + text_width(label.size(), kCaption) + 16;
  }
  return x;
}

/// The title, totals and legend; returns the width they need.
double draw_header(Drawing& drawing, const std::string& name, const SupportSet& s) {
  const std::string title = describe_support(name, s), sums = totals(s);
  drawing.items.emplace_back(Text{{kMargin, 38}, title, kTitle, true, kPlotText});
  drawing.items.emplace_back(Text{{kMargin, 62}, sums, kBody, false, kMaskCaption});
  const double legend = draw_legend(drawing, s);
  return std::max({kMargin + text_width(title.size(), kTitle), kMargin + text_width(sums.size(), kBody), legend}) +
         kMargin;
}

void draw_caption(Drawing& drawing, const SupportSet& s, int64_t h, const Layout& layout, Point origin) {
  const SupportSet::Head& head = s.head(h);
  const std::string before = head.offsets.empty() && !head.diagonal ? "" : "offsets ";
  const size_t room = static_cast<size_t>(layout.column_width / text_width(1, kCaption)) - before.size();
  const double y = origin.y + layout.panel.side + kLine - 2;
  const std::string name = fmt::format("head {}, w = {}", h + 1, grouped(head.window));
  drawing.items.emplace_back(Text{{origin.x, y}, name, kCaption, true, kPlotText});
  drawing.items.emplace_back(
      Text{{origin.x, y + kLine - 2}, before + describe_keys(head, room, "..."), kCaption, false, kMaskCaption});
}

void draw_head(Drawing& drawing, const SupportSet& s, int64_t h, const Layout& layout) {
  const Point o = layout.origin(h);
  const double side = layout.panel.side;
  drawing.items.emplace_back(Fill{kMaskFrame, {{o.x - 1, o.y - 1, side + 2, side + 2}}, {}});
  for (Fill& f : draw_mask(s, h, layout.panel, o, kMask)) drawing.items.emplace_back(std::move(f));
  draw_caption(drawing, s, h, layout, o);
}

}  // namespace

std::string pattern_title(const AttentionSpec& spec, std::optional<int64_t> layer) {
  return spec.to_string() + (layer ? fmt::format(", layer {}", *layer) : "");
}

Drawing draw_pattern(const std::string& name, const SupportSet& s, PatternSize size) {
  const Layout layout(s, size);
  Drawing drawing;
  const double header = draw_header(drawing, name, s);
  drawing.width = std::ceil(std::max(layout.width(), header));
  drawing.height = std::ceil(layout.height());
  for (int64_t h = 0; h < layout.panels; ++h) draw_head(drawing, s, h, layout);
  return drawing;
}

}  // namespace fib::report
