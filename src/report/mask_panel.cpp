// SPDX-License-Identifier: Apache-2.0
// Lengths inside are in tokens, with queries as y and keys as x; Canvas turns them into pixels.
#include <algorithm>
#include <cmath>
#include <span>

#include "report/pattern_drawing.h"

namespace fib::report {
namespace {

/// Up to here a panel shows every pair as a square; beyond, a diagonal is one line however many tokens it has.
constexpr int64_t kMaxSquares = 64;
/// Pixels across: thinner lines fade, thinner bands and dots vanish.
constexpr double kMinLine = 1.7, kMinBand = 2.0, kMinDot = 2.0;
/// Between tokens and summaries.
constexpr double kSummaryGap = 4.0;
/// A wider area of lines too close to be told apart has the shade of its density, though never less than this.
constexpr double kShadedArea = 24.0, kFaintest = 0.3;

struct Canvas {
  MaskPanel panel;
  Point origin;

  double at_least(double pixels) const { return pixels / panel.cell; }
  Point point(double x, double y) const { return {origin.x + x * panel.cell, origin.y + y * panel.cell}; }
  Rect rect(double x, double y, double width, double height) const {
    const Point p = point(x, y);
    return {p.x, p.y, width * panel.cell, height * panel.cell};
  }
};

struct Interval {
  double low, high;   ///< of key - query
  int64_t diagonals;  ///< how many lie within
};

/// Every diagonal of a head as its key - query, ascending.
std::vector<int64_t> diagonals(const SupportSet& s, const SupportSet::Head& head) {
  std::vector<int64_t> list;
  for (auto o = head.offsets.rbegin(); o != head.offsets.rend(); ++o) list.push_back(-*o);
  if (head.diagonal) list.push_back(0);
  if (!s.causal()) list.insert(list.end(), head.offsets.begin(), head.offsets.end());
  return list;
}

/// Lines of a width of 2 half, those less than `gap` apart as one.
std::vector<Interval> merged(std::span<const int64_t> diagonals, double half, double gap) {
  std::vector<Interval> list;
  for (int64_t d : diagonals) {
    const double low = static_cast<double>(d) - half, high = static_cast<double>(d) + half;
    if (!list.empty() && low < list.back().high + gap) {
      list.back() = {list.back().low, high, list.back().diagonals + 1};
    } else {
      list.push_back({low, high, 1});
    }
  }
  return list;
}

/// Each line by itself as long as it can be seen as one; areas where the ground between is narrower than the lines are
/// one interval.
std::vector<Interval> drawn_intervals(std::span<const int64_t> diagonals, double half, const Canvas& canvas) {
  std::vector<Interval> list;
  for (const Interval& area : merged(diagonals, half, 2 * half)) {
    const auto members = diagonals.first(static_cast<size_t>(area.diagonals));
    diagonals = diagonals.subspan(members.size());
    if ((area.high - area.low) * canvas.panel.cell > kShadedArea) {
      list.push_back(area);
    } else {
      for (const Interval& line : merged(members, half, 0)) list.push_back(line);
    }
  }
  return list;
}

/// The strip low <= key - query <= high of an n x n square: a diagonal, or a band of neighbouring ones.
std::vector<Point> strip(Interval d, double n, const Canvas& canvas, double first) {
  d = {std::max(d.low, -n), std::min(d.high, n), d.diagonals};
  const auto enter = [&](double o) { return o >= 0 ? Point{o, 0} : Point{0, -o}; };
  const auto leave = [&](double o) { return o >= 0 ? Point{n, n - o} : Point{n + o, n}; };
  const bool middle = d.low < 0 && d.high > 0;
  std::vector<Point> corners = {enter(d.low)};
  if (middle) corners.push_back({0, 0});
  corners.push_back(enter(d.high));
  corners.push_back(leave(d.high));
  if (middle) corners.push_back({n, n});
  corners.push_back(leave(d.low));
  for (Point& p : corners) p = canvas.point(first + p.x, first + p.y);
  return corners;
}

Color blend(Color ground, Color ink, double share) {
  const auto mix = [share](uint8_t from, uint8_t to) {
    return static_cast<uint8_t>(std::lround(from + share * (to - from)));
  };
  return {mix(ground.red, ink.red), mix(ground.green, ink.green), mix(ground.blue, ink.blue)};
}

Color shade(const Interval& d, const Canvas& canvas, const MaskColors& colors) {
  const double width = d.high - d.low;
  if (width * canvas.panel.cell <= kShadedArea) return colors.offsets;
  return blend(colors.ground, colors.offsets, std::clamp(static_cast<double>(d.diagonals) / width, kFaintest, 1.0));
}

std::vector<Fill> draw_diagonals(const SupportSet& s, int64_t h, const Canvas& canvas, const MaskColors& colors) {
  std::vector<Fill> fills;
  const double half = 0.5 * std::max(1.0, canvas.at_least(kMinLine));
  for (const Interval& d : drawn_intervals(diagonals(s, s.head(h)), half, canvas)) {
    const Color color = shade(d, canvas, colors);
    if (fills.empty() || fills.back().color != color) fills.push_back({color, {}, {}});
    fills.back().polygons.push_back(strip(d, static_cast<double>(s.patches()), canvas, static_cast<double>(s.cls())));
  }
  return fills;
}

/// The line of a step on the grid where patches [first, last) are the lower ones of its pairs.
std::vector<Point> run_of(const SupportSet& s, double offset, double first, double last, double half,
                          const Canvas& canvas) {
  const double cls = static_cast<double>(s.cls()), x = std::max(0.0, offset), y = std::max(0.0, -offset);
  std::vector<Point> corners = {{first + x - half, first + y},
                                {first + x + half, first + y},
                                {last + x + half, last + y},
                                {last + x - half, last + y}};
  for (Point& p : corners) p = canvas.point(cls + p.x, cls + p.y);
  return corners;
}

/// Lines broken where a row of the grid ends, or whole where the breaks are too small to be seen.
Fill draw_neighbors(const SupportSet& s, int64_t h, const Canvas& canvas, Color color) {
  Fill fill{color, {}, {}};
  const double half = 0.5 * std::max(1.0, canvas.at_least(kMinLine));
  for (const GridOffset& g : s.head(h).neighbors) {
    const int64_t end = s.patches() - g.offset;
    const bool broken = static_cast<double>(g.frames.everything() ? g.columns.period : g.frames.period) >=
                        canvas.at_least(2 * kMinLine);
    for (int64_t first = 0, last = 0; first < end; first = last) {
      for (last = first + 1; last < end && (!broken || g.contains(last) == g.contains(first));) ++last;
      if (broken && !g.contains(first)) continue;
      for (const double sign : {-1.0, 1.0}) {
        if (sign > 0 && s.causal()) continue;
        fill.polygons.push_back(run_of(s, sign * static_cast<double>(g.offset), static_cast<double>(first),
                                       static_cast<double>(last), half, canvas));
      }
    }
  }
  return fill;
}

/// A column each, from the first patch token down.
Fill draw_summaries(const SupportSet& s, const Canvas& canvas, Color color) {
  Fill fill{color, {}, {}};
  if (!s.summaries()) return fill;
  const MaskPanel& panel = canvas.panel;
  const double top = static_cast<double>(s.cls()) * panel.cell;
  fill.rects.push_back({canvas.origin.x + panel.side + kSummaryGap, canvas.origin.y + top,
                        panel.width - panel.side - kSummaryGap, panel.side - top});
  return fill;
}

/// Class tokens see all and are seen by all; where causal, each sees only those before it.
Fill draw_class_tokens(const SupportSet& s, const Canvas& canvas, Color color) {
  Fill fill{color, {}, {}};
  if (s.cls() == 0) return fill;
  const double band = std::max(static_cast<double>(s.cls()), canvas.at_least(kMinBand));
  const double tokens = static_cast<double>(s.key_tokens());
  if (s.causal()) {
    fill.polygons.push_back({canvas.point(0, 0), canvas.point(band, band), canvas.point(0, band)});
  } else {
    fill.rects.push_back(canvas.rect(0, 0, tokens, band));
  }
  fill.rects.push_back(canvas.rect(0, band, band, tokens - band));
  return fill;
}

Fill draw_dots(const SupportSet& s, int64_t h, const Canvas& canvas, Color color) {
  Fill fill{color, {}, {}};
  const std::vector<TokenPair> pairs = s.head(h).pairs.to_vector();
  const size_t shown = std::min(pairs.size(), static_cast<size_t>(kMaxDots));
  const double size = std::max(canvas.panel.cell, kMinDot);
  for (size_t i = 0; i < shown; ++i) {
    const TokenPair& p = pairs[i * pairs.size() / shown];
    const Point corner = canvas.point(p.key, p.query);
    fill.rects.push_back({std::floor(corner.x), std::floor(corner.y), size, size});
  }
  return fill;
}

std::vector<Fill> draw_squares(const SupportSet& s, int64_t h, const Canvas& canvas, const MaskColors& colors) {
  Fill offsets{colors.offsets, {}, {}}, cls{colors.cls, {}, {}}, random{colors.random, {}, {}},
      neighbors{colors.neighbors, {}, {}};
  const auto is_offset = [&](int64_t distance) {
    const SupportSet::Head& head = s.head(h);
    return distance == 0 ? head.diagonal
                         : std::binary_search(head.offsets.begin(), head.offsets.end(), std::abs(distance));
  };
  for (int64_t q = 0; q < s.query_tokens(); ++q) {
    for (int64_t k : s.keys_of_row(h, q)) {
      const bool listed = s.head(h).pairs.contains({static_cast<int32_t>(q), static_cast<int32_t>(k)});
      Fill& fill = q < s.cls() || k < s.cls() ? cls : listed ? random : is_offset(q - k) ? offsets : neighbors;
      // A pixel of ground is left between squares, so that they can be counted.
      const Rect r = canvas.rect(static_cast<double>(k), static_cast<double>(q), 1, 1);
      fill.rects.push_back({r.x, r.y, r.width - 1, r.height - 1});
    }
  }
  return {offsets, neighbors, cls, random};
}

}  // namespace

MaskPanel MaskPanel::fitting(const SupportSet& support, double room) {
  const double tokens = static_cast<double>(support.query_tokens());
  const double summaries = support.summaries() ? static_cast<double>(support.summaries()->count()) : 0.0;
  if (summaries > 0) room -= kSummaryGap;
  const double t = tokens + summaries;
  const double cell = t <= room ? std::min(std::floor(room / t), 48.0) : room / t;
  const double side = cell * tokens;
  return {cell, side, summaries > 0 ? side + kSummaryGap + std::max(cell * summaries, kMinBand) : side};
}

std::vector<Fill> draw_mask(const SupportSet& s, int64_t head, MaskPanel panel, Point origin,
                            const MaskColors& colors) {
  const Canvas canvas{panel, origin};
  std::vector<Fill> fills = {{colors.ground, {{origin.x, origin.y, panel.side, panel.side}}, {}}};
  fills.push_back(draw_summaries(s, canvas, colors.summaries));
  if (s.query_tokens() <= kMaxSquares) {
    for (Fill& f : draw_squares(s, head, canvas, colors)) fills.push_back(std::move(f));
    return fills;
  }
  for (Fill& f : draw_diagonals(s, head, canvas, colors)) fills.push_back(std::move(f));
  fills.push_back(draw_neighbors(s, head, canvas, colors.neighbors));
  fills.push_back(draw_dots(s, head, canvas, colors.random));
  fills.push_back(draw_class_tokens(s, canvas, colors.cls));
  return fills;
}

}  // namespace fib::report
