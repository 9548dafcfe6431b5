// SPDX-License-Identifier: Apache-2.0
// The parts of the page that show images.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/drawing.h"
#include "report/page/sections.h"
#include "report/pattern_drawing.h"
#include "report/text.h"

namespace fib::report {
namespace {

constexpr int kShownSide = 128, kKeysSide = 280;
/// A table with more classes than this cannot be read; its largest entries can.
constexpr size_t kMostClasses = 20;

Pixels plain(const SquareImage& p) { return {{}, p.width(), p.side, p.rgb}; }

std::string figure(const std::string& image, const std::string& caption) {
  return fmt::format("<figure class=\"image\">{}<figcaption>{}</figcaption></figure>\n", image, caption);
}

/// The runs whose mechanism has maps.
std::vector<size_t> runs_with_maps(const Page& page) {
  std::vector<size_t> list;
  for (size_t r = 0; r < page.runs.size(); ++r)
    if (!page.runs[r].maps.empty() && !page.runs[r].maps.front().rollout.empty()) list.push_back(r);
  return list;
}

using MapWeights = std::vector<double> SampleMaps::*;

struct MapKind {
  const char* title;
  MapWeights weights;
};
constexpr std::array<MapKind, 2> kMapKinds = {
    {{"through all layers (rollout)", &SampleMaps::rollout}, {"last layer", &SampleMaps::last_layer}}};

/// Maps of one kind over one image stand side by side, so they have one scale.
HeatRange range_over_runs(const Page& page, const std::vector<size_t>& runs, size_t sample, MapWeights weights) {
  HeatRange range = range_of(page.runs[runs.front()].maps[sample].*weights);
  for (size_t r : runs) range = joint_range(range, range_of(page.runs[r].maps[sample].*weights));
  return range;
}

std::string map_cell(const Page& page, size_t s, const PageRun& run, const MapKind& kind, const HeatRange& range) {
  const Sample& sample = page.samples[s];
  const SampleMaps& maps = run.maps[s];
  const std::string alt =
      fmt::format("{}, {}, over an image of {}", run.record.name, kind.title, class_label(page, sample.truth));
  return fmt::format(
      "<td>{}</td>",
      figure(image_tag(heat_over(sample.image, maps.*kind.weights, range), kShownSide, alt),
             fmt::format("{}, {:.0f} %", escaped_markup(class_label(page, maps.predicted)), 100 * maps.probability)));
}

std::string sample_row(const Page& page, const std::vector<size_t>& runs, size_t s) {
  const Sample& sample = page.samples[s];
  const std::string truth = class_label(page, sample.truth);
  std::string row = fmt::format(
      "<th scope=\"row\">{}</th>",
      figure(image_tag(plain(sample.image), kShownSide, "image of " + truth), "is: " + escaped_markup(truth)));
  for (const MapKind& kind : kMapKinds) {
    const HeatRange range = range_over_runs(page, runs, s, kind.weights);
    for (size_t r : runs) row += map_cell(page, s, page.runs[r], kind, range);
  }
  return "<tr>" + row + "</tr>\n";
}

std::string maps_head(const Page& page, const std::vector<size_t>& runs) {
  std::string kinds, names;
  for (const MapKind& kind : kMapKinds) {
    kinds += fmt::format("<th scope=\"colgroup\" colspan=\"{}\">{}</th>", runs.size(), kind.title);
    for (size_t r : runs) names += fmt::format("<th scope=\"col\">{}</th>", run_name(page, r));
  }
  return fmt::format("<thead><tr><th scope=\"col\" rowspan=\"2\">image</th>{}</tr><tr>{}</tr></thead>", kinds, names);
}

int64_t samples_in(const PageRun& run) {
  int64_t total = 0;
  for (const auto& row : run.confusion)
    for (int64_t count : row) total += count;
  return total;
}

int64_t right_in(const PageRun& run) {
  int64_t right = 0;
  for (size_t c = 0; c < run.confusion.size(); ++c) right += run.confusion[c][c];
  return right;
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

namespace {

/// More explicit pairs than these make the page larger than what they show is worth.
constexpr int64_t kMostListed = 20000;

nlohmann::ordered_json pairs_between_patches(const SupportSet& s, int64_t h) {
  auto list = nlohmann::ordered_json::array();
  for (const TokenPair& p : s.head(h).pairs.to_vector()) list.push_back({p.query - s.cls(), p.key - s.cls()});
  for (const GridOffset& g : s.head(h).neighbors) {
    for (int64_t p = 0; p + g.offset < s.patches(); ++p) {
      if (!g.contains(p)) continue;
      list.push_back({p + g.offset, p});
      if (!s.causal()) list.push_back({p, p + g.offset});
    }
  }
  return list;
}

/// What the script needs to name the keys of any patch; nothing where the patches are no square or the pairs too many.
std::optional<std::string> support_data(const SupportSet& s) {
  const auto grid = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(s.patches()))));
  int64_t listed = 0;
  for (int64_t h = 0; h < s.num_heads(); ++h) listed += s.head(h).pairs.size() + s.neighbor_pairs(h);
  if (grid * grid != s.patches() || s.query_tokens() != s.key_tokens() || listed > kMostListed) return std::nullopt;
  auto heads = nlohmann::ordered_json::array();
  for (int64_t h = 0; h < s.num_heads(); ++h)
    heads.push_back(
        {{"offsets", s.head(h).offsets}, {"diagonal", s.head(h).diagonal}, {"pairs", pairs_between_patches(s, h)}});
  return nlohmann::ordered_json{{"grid", grid}, {"causal", s.causal()}, {"heads", heads}}.dump();
}

/// An image whose patches show their keys when they are pointed at.
std::string key_figure(const Page& page, size_t run) {
  const std::optional<std::string> data = support_data(*page.runs[run].support);
  if (page.samples.empty() || page.samples.front().image.frames != 1 || !data) return "";
  const auto grid =
      static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(page.runs[run].support->patches()))));
  return fmt::format(
      "<figure class=\"keys\" style=\"--mechanism:{}\"><div class=\"looks\" tabindex=\"0\" role=\"application\" "
      "aria-roledescription=\"image of patches\" aria-labelledby=\"keys-{}\" data-support=\"{}\">{}<svg viewBox=\"0 0 "
      "{} "
      "{}\" aria-hidden=\"true\"></svg></div><figcaption role=\"status\" id=\"keys-{}\">Point at a patch, or use the "
      "arrow "
      "keys, to see its keys.</figcaption></figure>\n",
      run_color(page, run), run, escaped_markup(*data), image_tag(plain(page.samples.front().image), kKeysSide, ""),
      grid, grid, run);
}

}  // namespace

std::string patterns_section(const Page& page) {
  std::string body;
  std::vector<std::string> drawn;
  for (size_t r = 0; r < page.runs.size(); ++r) {
    const PageRun& run = page.runs[r];
    const std::string& attention = run.record.attention;
    if (!run.support || std::find(drawn.begin(), drawn.end(), attention) != drawn.end()) continue;
    drawn.push_back(attention);
    const Drawing drawing = draw_pattern(attention, *run.support, PatternSize::page);
    const std::string description =
        fmt::format("Which key each query meets, head by head: {}", describe_support(attention, *run.support));
    body += fmt::format(
        "<h3>{}</h3>\n<div class=\"row\">{}<figure class=\"pattern\" tabindex=\"0\" "
        "style=\"max-width:{:.0f}px\">{}</figure></div>\n",
        run_name(page, r), key_figure(page, r), drawing.width, to_inline_svg(drawing, description));
  }
  if (body.empty()) return "";
  return section("patterns", "Patterns",
                 "Which query (down) meets which key (across), in the first layer; beside it the same over an image.",
                 body);
}

std::string maps_section(const Page& page) {
  const std::vector<size_t> runs = runs_with_maps(page);
  if (page.samples.empty() || runs.empty()) return "";
  std::string rows;
  for (size_t s = 0; s < page.samples.size(); ++s) rows += sample_row(page, runs, s);
  return section("maps", "Attention maps",
                 "Where the class token looks: through all layers (rollout), and in the last layer, the mean of its "
                 "heads. The maps "
                 "of an image that stand side by side have one scale, from <span class=\"heat\"></span> dark to "
                 "bright. Below each: "
                 "what the image was taken for.",
                 fmt::format("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Attention maps\"><table "
                             "class=\"maps\">{}<tbody>\n{}</tbody></table></div>\n",
                             maps_head(page, runs), rows));
}

std::string confusion_section(const Page& page) {
  std::string body;
  for (size_t r = 0; r < page.runs.size(); ++r) {
    const PageRun& run = page.runs[r];
    if (run.confusion.empty()) continue;
    body += fmt::format("<h3>{}</h3>\n<p class=\"muted\">{} test {}, {} of them right.</p>\n", run_name(page, r),
                        grouped(samples_in(run)), escaped_markup(run.record.samples), grouped(right_in(run)));
    body += run.confusion.size() <= kMostClasses ? confusion_table(page, run) : largest_confusions(page, run);
  }
  if (body.empty()) return "";
  return section("confusion", "Confusion", "What they are (down), and what they were taken for (across).", body);
}

std::string mistakes_section(const Page& page) {
  std::string body;
  for (size_t r = 0; r < page.runs.size(); ++r) {
    const PageRun& run = page.runs[r];
    if (run.mistakes.empty()) continue;
    std::string row;
    for (const Mistake& m : run.mistakes) {
      const std::string truth = class_label(page, m.truth), taken = class_label(page, m.predicted);
      row += figure(
          image_tag(plain(m.image), kShownSide, fmt::format("{}: a {} taken for a {}", m.item, truth, taken)),
          fmt::format("{}, taken for {}, {:.0f} %", escaped_markup(truth), escaped_markup(taken), 100 * m.probability));
    }
    body += fmt::format(
        "<h3>{}</h3>\n<p class=\"muted\">{} of the {} wrong answers among {} test {}.</p>\n<div "
        "class=\"row\">{}</div>\n",
        run_name(page, r), run.mistakes.size(), grouped(samples_in(run) - right_in(run)), grouped(samples_in(run)),
        escaped_markup(run.record.samples), row);
  }
  if (body.empty()) return "";
  return section("mistakes", "Worst mistakes", "Those that were wrong with the most certainty.", body);
}

}  // namespace fib::report
