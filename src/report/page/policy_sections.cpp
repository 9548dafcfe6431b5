// SPDX-License-Identifier: Apache-2.0
// The parts of the page that only policies have.
#include <fmt/format.h>

#include "report/markup.h"
#include "report/page/sections.h"
#include "report/png.h"
#include "report/run_comparison.h"
#include "report/words.h"

namespace fib::report {
namespace {

constexpr int kMapSide = 128;

std::string policy_row(const PageRun& run) {
  const RunRecord& r = run.record;
  const PlayedEpisodes& played = *run.episodes;
  return fmt::format(
      "<tr><th scope=\"row\">{}</th><td class=\"words\">{}</td><td>{:.3f}</td><td>{:.3f}</td><td "
      "class=\"words\">{}</td>"
      "<td>{:.1f}</td><td>{:.1f} %</td><td>{}</td><td>{}</td><td>{:.0f}</td><td>{:.0f}</td><td>{}</td></tr>\n",
      escaped_markup(r.name), escaped_markup(r.attention), r.test_score, played.mean_score,
      escaped_markup(played.sampler), played.policy_ms, 100 * r.pair_share, grouped(run.parameters),
      known_figure(r.step_ms, 0, ""), r.epochs, r.train_seconds, r.seed);
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
  std::string rows;
  for (const PageRun& run : page.runs) rows += policy_row(run);
  const RunRecord& first = page.runs.front().record;
  return section(
      "summary", "Summary",
      fmt::format("{} learned {} windows of demonstrations. The score is the mean over the test seeds of an episode's "
                  "best reward.",
                  escaped_markup(first.model), grouped(first.train_samples)),
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Summary table\"><table>\n<thead><tr><th "
      "scope=\"col\">run</th><th scope=\"col\" class=\"words\">attention</th><th scope=\"col\">score</th><th "
      "scope=\"col\">played again</th><th scope=\"col\" class=\"words\">sampler</th><th scope=\"col\">decision, ms</th>"
      "<th scope=\"col\">pairs</th><th scope=\"col\">parameters</th><th scope=\"col\">step, ms</th><th "
      "scope=\"col\">epochs</th><th scope=\"col\">training, s</th><th scope=\"col\">seed</th></tr></thead>\n<tbody>\n" +
          rows + "</tbody></table></div>\n");
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
