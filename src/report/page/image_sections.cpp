// SPDX-License-Identifier: Apache-2.0
// The parts of the page that show images.
#include <fmt/format.h>

#include <algorithm>

#include "report/markup.h"
#include "report/page/sections.h"
#include "report/pattern_drawing.h"
#include "report/words.h"

namespace fib::report {
namespace {

constexpr int kShownSide = 128;
/// A table with more classes than this cannot be read; its largest entries can.
constexpr size_t kMostClasses = 20;

Pixels plain(const SquareImage& p) { return {{}, p.width(), p.side, p.rgb}; }

std::string figure(const std::string& image, const std::string& caption) {
  return fmt::format("<figure class=\"image\">{}<figcaption>{}</figcaption></figure>\n", image, caption);
}

std::string map_figure(const Page& page, const Sample& sample, const SampleMaps& maps,
                       const std::vector<double>& weights, const std::string& what) {
  const std::string alt = fmt::format("{} over an image of {}", what, class_label(page, sample.truth));
  return figure(image_tag(heat_over(sample.image, weights, std::nullopt, {}), kShownSide, alt),
                fmt::format("{}: {}, {:.0f} %", escaped_markup(what), escaped_markup(class_label(page, maps.predicted)),
                            100 * maps.probability));
}

std::string sample_row(const Page& page, size_t s) {
  const Sample& sample = page.samples[s];
  const std::string truth = class_label(page, sample.truth);
  std::string row = figure(image_tag(plain(sample.image), kShownSide, "image of " + truth), escaped_markup(truth));
  for (const PageRun& run : page.runs) {
    if (s >= run.maps.size() || run.maps[s].rollout.empty()) continue;
    const SampleMaps& maps = run.maps[s];
    row += map_figure(page, sample, maps, maps.rollout, run.record.name + ", rollout");
    row += map_figure(page, sample, maps, maps.last_layer, run.record.name + ", last layer");
  }
  return "<div class=\"row\">" + row + "</div>\n";
}

/// Right answers and mistakes are both shares of a row.
std::string confusion_cell(int64_t count, int64_t total, bool right) {
  if (count == 0) return "<td></td>";
  const double share = static_cast<double>(count) / static_cast<double>(std::max<int64_t>(1, total));
  // A cell's ground stays pale enough for the text in both themes.
  return fmt::format("<td style=\"background:rgba(var(--heat),{:.2f})\"{}>{}</td>", 0.06 + 0.39 * share,
                     right ? " class=\"best\"" : "", count);
}

std::string confusion_table(const Page& page, const PageRun& run) {
  std::string head, rows;
  for (size_t c = 0; c < run.confusion.size(); ++c)
    head += fmt::format("<th scope=\"col\">{}</th>", escaped_markup(class_label(page, static_cast<int64_t>(c))));
  for (size_t truth = 0; truth < run.confusion.size(); ++truth) {
    int64_t total = 0;
    for (int64_t count : run.confusion[truth]) total += count;
    rows +=
        fmt::format("<tr><th scope=\"row\">{}</th>", escaped_markup(class_label(page, static_cast<int64_t>(truth))));
    for (size_t c = 0; c < run.confusion.size(); ++c)
      rows += confusion_cell(run.confusion[truth][c], total, c == truth);
    rows += "</tr>\n";
  }
  return fmt::format(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Confusion matrix of {}\"><table "
      "class=\"confusion\"><thead><tr><th scope=\"col\">is \\ taken for</th>{}</tr></thead><tbody>\n{}</tbody></table>"
      "</div>\n",
      escaped_markup(run.record.name), head, rows);
}

struct Confused {
  size_t truth, predicted;
  int64_t count;
};

std::string largest_confusions(const Page& page, const PageRun& run) {
  std::vector<Confused> list;
  for (size_t t = 0; t < run.confusion.size(); ++t) {
    for (size_t p = 0; p < run.confusion.size(); ++p)
      if (t != p && run.confusion[t][p] > 0) list.push_back({t, p, run.confusion[t][p]});
  }
  std::stable_sort(list.begin(), list.end(), [](const Confused& a, const Confused& b) { return a.count > b.count; });
  list.resize(std::min<size_t>(list.size(), 12));
  std::string rows;
  for (const Confused& c : list)
    rows +=
        fmt::format("<li>{} taken for {}: {}</li>\n", escaped_markup(class_label(page, static_cast<int64_t>(c.truth))),
                    escaped_markup(class_label(page, static_cast<int64_t>(c.predicted))), c.count);
  return "<ol>" + rows + "</ol>\n";
}

}  // namespace

std::string patterns_section(const Page& page) {
  std::string body;
  std::vector<std::string> drawn;
  for (const PageRun& run : page.runs) {
    const std::string& attention = run.record.attention;
    if (!run.support || std::find(drawn.begin(), drawn.end(), attention) != drawn.end()) continue;
    drawn.push_back(attention);
    body += fmt::format(
        "<h3>{0}</h3>\n<figure class=\"paper\" tabindex=\"0\" role=\"img\" aria-label=\"Which key each query meets "
        "with "
        "{0}, head by head: {1}\">{2}</figure>\n",
        escaped_markup(attention), escaped_markup(describe_support(attention, *run.support)),
        to_svg(draw_pattern(attention, *run.support)));
  }
  if (body.empty()) return "";
  return section("patterns", "Patterns", "Which query (down) meets which key (across), in the first layer.", body);
}

std::string maps_section(const Page& page) {
  const auto has_maps = [](const PageRun& run) { return !run.maps.empty() && !run.maps.front().rollout.empty(); };
  if (page.samples.empty() || std::none_of(page.runs.begin(), page.runs.end(), has_maps)) return "";
  std::string body;
  for (size_t s = 0; s < page.samples.size(); ++s) body += sample_row(page, s);
  return section(
      "maps", "Attention maps",
      "Where the class token looks: through all layers (rollout), and in the last layer, the mean of its heads. "
      "Below each: what the image was taken for.",
      body);
}

std::string confusion_section(const Page& page) {
  std::string body;
  for (const PageRun& run : page.runs) {
    if (run.confusion.empty()) continue;
    body += "<h3>" + escaped_markup(run.record.name) + "</h3>\n";
    body += run.confusion.size() <= kMostClasses ? confusion_table(page, run) : largest_confusions(page, run);
  }
  if (body.empty()) return "";
  return section("confusion", "Confusion", "What the test images are (down), and what they were taken for (across).",
                 body);
}

std::string mistakes_section(const Page& page) {
  std::string body;
  for (const PageRun& run : page.runs) {
    if (run.mistakes.empty()) continue;
    std::string row;
    for (const Mistake& m : run.mistakes) {
      const std::string truth = class_label(page, m.truth), taken = class_label(page, m.predicted);
      row += figure(
          image_tag(plain(m.image), kShownSide, fmt::format("{}: a {} taken for a {}", m.item, truth, taken)),
          fmt::format("{}, taken for {}, {:.0f} %", escaped_markup(truth), escaped_markup(taken), 100 * m.probability));
    }
    body += "<h3>" + escaped_markup(run.record.name) + "</h3>\n<div class=\"row\">" + row + "</div>\n";
  }
  if (body.empty()) return "";
  return section("mistakes", "Worst mistakes", "Test images that were wrong with the most certainty.", body);
}

}  // namespace fib::report
