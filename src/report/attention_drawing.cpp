// SPDX-License-Identifier: Apache-2.0
#include "report/attention_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fib::report {

namespace {

uint8_t blend(double a, double b, double share) { return static_cast<uint8_t>(std::lround(std::lerp(a, b, share))); }

Color mixed(Color a, Color b, double share) {
  return {blend(a.red, b.red, share), blend(a.green, b.green, share), blend(a.blue, b.blue, share)};
}

/// The image in grey and at half its brightness, so that light on it is seen.
Color dimmed(const uint8_t* rgb) {
  const double grey = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
  const auto level = static_cast<uint8_t>(std::lround(16 + 0.5 * grey));
  return {level, level, level};
}

bool on_frame(uint32_t x, uint32_t y, uint32_t cell, uint32_t row, uint32_t column) {
  const uint32_t left = column * cell, top = row * cell;
  if (x < left || y < top || x >= left + cell || y >= top + cell) return false;
  return cell < 4 || x == left || y == top || x == left + cell - 1 || y == top + cell - 1;
}

Pixels heat_in_range(const SquareImage& image, const std::vector<double>& weights, std::optional<size_t> marked,
                     const Rect& at, const HeatRange& range) {
  constexpr Color kMark{86, 180, 233};
  const size_t of_frame = weights.size() / image.frames;
  const auto grid = static_cast<uint32_t>(std::lround(std::sqrt(static_cast<double>(of_frame))));
  const uint32_t cell = std::max(1U, image.side / grid);
  const double span = std::max(range.most - range.least, 1e-30);
  Pixels pixels{at, image.width(), image.side, {}};
  pixels.rgb.reserve(image.rgb.size());
  for (uint32_t y = 0; y < image.side; ++y) {
    for (uint32_t place = 0; place < image.width(); ++place) {
      const uint32_t frame = place / image.side, x = place % image.side;
      const uint32_t row = std::min(y * grid / image.side, grid - 1),
                     column = std::min(x * grid / image.side, grid - 1);
      const double share = (weights[frame * of_frame + size_t{row} * grid + column] - range.least) / span;
      Color c =
          mixed(dimmed(&image.rgb[size_t{3} * (y * image.width() + place)]), heat_color(share), 0.9 * std::sqrt(share));
      if (marked && on_frame(x, y, cell, static_cast<uint32_t>(*marked) / grid, static_cast<uint32_t>(*marked) % grid))
        c = kMark;
      pixels.rgb.insert(pixels.rgb.end(), {c.red, c.green, c.blue});
    }
  }
  return pixels;
}

}  // namespace

HeatRange range_of(const std::vector<double>& weights) {
  const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  return {*least, *most};
}

HeatRange joint_range(const HeatRange& a, const HeatRange& b) {
  return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

Color heat_color(double share) {
  constexpr std::array<Color, 5> kStops = {{{0, 0, 4}, {87, 16, 110}, {188, 55, 84}, {249, 142, 9}, {252, 255, 164}}};
  const double place = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
  const auto below = std::min(static_cast<size_t>(place), kStops.size() - 2);
  return mixed(kStops[below], kStops[below + 1], place - static_cast<double>(below));
}

Pixels heat_over(const SquareImage& image, const std::vector<double>& weights, std::optional<size_t> marked,
                 const Rect& at) {
  return heat_in_range(image, weights, marked, at, range_of(weights));
}

Pixels heat_over(const SquareImage& image, const std::vector<double>& weights, const HeatRange& range) {
  return heat_in_range(image, weights, std::nullopt, {}, range);
}

namespace {

constexpr Color kSheetText{29, 36, 51}, kSheetMuted{91, 101, 119};
constexpr double kSheetMargin = 28, kSheetGap = 6, kSheetTitle = 22, kSheetBody = 15, kSheetCaption = 13,
                 kSheetLarge = 150, kSheetHeader = 76;

double panel_side(size_t heads) { return heads <= 4 ? 112 : heads <= 8 ? 84 : 64; }

class Sheet {
 public:
  Sheet(Drawing& drawing, const AttentionSheet& sheet, double top) : drawing_(drawing), sheet_(sheet), y_(top) {}

  /// Where the next one may begin.
  double draw() {
    text({kSheetMargin, y_ + 38}, sheet_.title, kSheetTitle, true);
    text({kSheetMargin, y_ + 62}, sheet_.subtitle, kSheetBody, false);
    y_ += kSheetHeader;
    draw_large();
    for (const MapsOfQuery& query : sheet_.queries) draw_query(query);
    return y_ + kSheetGap;
  }

 private:
  void text(Point at, const std::string& line, double size, bool bold) {
    drawing_.items.emplace_back(Text{at, line, size, bold, bold ? kSheetText : kSheetMuted});
    drawing_.width = std::max(drawing_.width, at.x + text_width(line.size(), size) + kSheetMargin);
  }

  void image(Pixels pixels) {
    drawing_.width = std::max(drawing_.width, pixels.at.x + pixels.at.width + kSheetMargin);
    drawing_.items.emplace_back(std::move(pixels));
  }

  void draw_large() {
    const SquareImage& p = sheet_.image;
    const double width = kSheetLarge * p.frames;
    // Beside each other; strips one below the other.
    const Point second =
        p.frames == 1 ? Point{kSheetMargin + width + 4 * kSheetGap, y_} : Point{kSheetMargin, y_ + kSheetLarge + 30};
    image({{kSheetMargin, y_, width, kSheetLarge}, p.width(), p.side, p.rgb});
    image(heat_over(p, sheet_.rollout, std::nullopt, {second.x, second.y, width, kSheetLarge}));
    text({kSheetMargin, y_ + kSheetLarge + 18}, p.frames == 1 ? "the image" : "the frames", kSheetCaption, false);
    text({second.x, second.y + kSheetLarge + 18}, "rollout", kSheetCaption, false);
    y_ = second.y + kSheetLarge + 40;
  }

  void draw_query(const MapsOfQuery& query) {
    text({kSheetMargin, y_ + 16}, query.title, kSheetBody, true);
    const size_t heads = query.weights.front().size();
    const double side = panel_side(heads), step = side * sheet_.image.frames + kSheetGap;
    const double first = kSheetMargin + text_width(9, kSheetCaption);
    for (size_t h = 0; h <= heads; ++h)
      text({first + static_cast<double>(h) * step, y_ + 36}, h < heads ? fmt::format("head {}", h + 1) : "mean",
           kSheetCaption, false);
    y_ += 44;
    for (size_t l = 0; l < query.weights.size(); ++l, y_ += side + kSheetGap) {
      text({kSheetMargin, y_ + side / 2 + 4}, fmt::format("layer {}", l + 1), kSheetCaption, false);
      draw_row(query, l, first, side);
    }
    y_ += 14;
  }

  void draw_row(const MapsOfQuery& query, size_t layer, double x, double side) {
    const double width = side * sheet_.image.frames;
    for (const std::vector<double>& weights : query.weights[layer]) {
      image(heat_over(sheet_.image, weights, query.marked, {x, y_, width, side}));
      x += width + kSheetGap;
    }
    image(heat_over(sheet_.image, mean_of_heads(query.weights[layer]), query.marked, {x, y_, width, side}));
  }

  Drawing& drawing_;
  const AttentionSheet& sheet_;
  double y_;
};

}  // namespace

std::vector<double> mean_of_heads(const std::vector<std::vector<double>>& heads) {
  std::vector<double> mean(heads.front().size());
  for (const auto& head : heads) {
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += head[i] / static_cast<double>(heads.size());
  }
  return mean;
}

Drawing draw_attention(const std::vector<AttentionSheet>& sheets) {
  Drawing drawing;
  double y = 0;
  for (const AttentionSheet& sheet : sheets) y = Sheet(drawing, sheet, y).draw();
  drawing.height = y + kSheetGap;
  return drawing;
}

}  // namespace fib::report
