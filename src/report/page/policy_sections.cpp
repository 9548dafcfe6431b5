// SPDX-License-Identifier: Apache-2.0
// The parts of the page that only policies have.
#include <fmt/format.h>

#include "report/page/sections.h"
#include "report/text.h"

namespace fib::report {
namespace {

constexpr int kMapSide = 128;

Fields<PageRun> policy_fields() {
  using Row = PageRun;
  return run_fields({shown_field<Row>("score", [](const Row& r) { return fixed(r.record.test_score, 3); }),
                     shown_field<Row>("played again", [](const Row& r) { return fixed(r.episodes->mean_score, 3); }),
                     shown_field<Row>(
                         "sampler", [](const Row& r) { return r.episodes->sampler; }, Table::Align::left),
                     shown_field<Row>("decision, ms", [](const Row& r) { return fixed(r.episodes->policy_ms, 1); })});
}

std::string strip_figure(const EpisodeStrip& strip) {
  const std::string caption =
      fmt::format("{}: seed {}, score {:.3f} after {} steps", strip.which, strip.seed, strip.score, strip.steps);
  return fmt::format(
      "<figure class=\"paper\" tabindex=\"0\"><img src=\"{}\" width=\"{}\" height=\"{}\" alt=\"Frames of an episode, "
      "{}\"><figcaption>{}</figcaption></figure>\n",
      png_uri(encode_png(strip.frames.rgb, strip.frames.width, strip.frames.height)), strip.frames.width,
      strip.frames.height, caption, caption);
}

std::string look_figure(const EncoderMap& map, const std::vector<double>& weights, const std::string& what) {
  return fmt::format("<figure class=\"image\">{}<figcaption>{}</figcaption></figure>\n",
                     image_tag(heat_over(map.image, weights, std::nullopt, {}), kMapSide, what + " over a frame"),
                     what);
}

std::string maps_row(const PlayedEpisodes& played) {
  std::string row;
  for (const EncoderMap& map : played.maps)
    row += look_figure(map, map.first_layer, "first layer") + look_figure(map, map.last_layer, "last layer");
  return row.empty() ? "" : "<div class=\"row\">" + row + "</div>\n";
}

}  // namespace

std::string policies_section(const Page& page) {
  if (!about_policies(page)) return "";
  const RunRecord& first = page.runs.front().record;
  return section(
      "summary", "Summary",
      fmt::format("{} learned {} windows of demonstrations. The score is the mean over the test seeds of an episode's "
                  "best reward.",
                  escaped_markup(first.model), grouped(first.train_samples)),
      fields_html(policy_fields(), page.runs, "Summary table"));
}

std::string episodes_section(const Page& page) {
  if (!about_policies(page)) return "";
  std::string body;
  for (const PageRun& run : page.runs) {
    body += fmt::format("<h3>{}</h3>\n", escaped_markup(run.record.name));
    for (const EpisodeStrip& strip : run.episodes->strips) body += strip_figure(strip);
    body += maps_row(*run.episodes);
  }
  return section("episodes", "Episodes",
                 "The best, the median and the worst episode, evenly spaced frames. Below: what the encoder's patches "
                 "look at in frames of the median one, the mean of patches and heads.",
                 body);
}

}  // namespace fib::report
