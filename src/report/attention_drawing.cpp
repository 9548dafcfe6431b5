// SPDX-License-Identifier: Apache-2.0
#include "report/attention_drawing.h"

#include <fmt/format.h>

#include <algorithm>

namespace fib::report {
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
