// SPDX-License-Identifier: Apache-2.0
// The parts of the page that are tables and plots.
#include <fmt/format.h>

#include <algorithm>

#include "report/markup.h"
#include "report/page/sections.h"
#include "report/run_comparison.h"
#include "report/run_curves.h"
#include "report/seeds.h"
#include "report/words.h"

namespace fib::report {
namespace {

std::vector<RunRecord> records(const Page& page) {
  std::vector<RunRecord> list;
  for (const PageRun& run : page.runs) list.push_back(run.record);
  return list;
}

std::string names(const Page& page) {
  std::vector<std::string> list;
  for (const PageRun& run : page.runs) list.push_back(run.record.name);
  return fmt::format("{}", fmt::join(list, ", "));
}

std::string summary_row(const Page& page, size_t i, const RunRecord& first, double best) {
  const PageRun& run = page.runs[i];
  const RunRecord& r = run.record;
  const std::string ratio = speed_ratio(r, first);
  return fmt::format(
      "<tr><th scope=\"row\">{}</th><td class=\"words\">{}</td><td{}>{:.2f} %</td><td>{:.2f} %</td><td>{}{}</td>"
      "<td>{:.1f} %</td><td>{:.3f}</td><td>{} of {}</td><td>{:.0f}</td><td>{}</td><td class=\"words\">{}</td>"
      "<td class=\"words\">{}</td><td>{}</td><td>{} / {}</td><td>{}</td></tr>\n",
      run_name(page, i), escaped_markup(r.attention),
      r.test_score == best && why_not_comparable(r, first).empty() ? " class=\"best\"" : "", 100 * r.test_score,
      100 * run.top5, known_rate(r.samples_per_second, ""), ratio == "–" ? "" : " (" + ratio + ")", 100 * r.pair_share,
      run.gmacs, known_figure(r.attention_ms, 1, ""), known_figure(r.step_ms, 1, ""), r.peak_memory_mb,
      grouped(run.parameters), escaped_markup(r.model), escaped_markup(r.data), r.seed, grouped(r.train_samples),
      grouped(run.test_samples), r.finished);
}

/// Each run a point: up and to the left is better.
LinePlot cost_plot(const Page& page) {
  Panel panel{
      .title = "", .x_label = "milliseconds of a training step", .y_label = "test top-1, percent", .series = {}};
  panel.x.from_zero = true;
  panel.lines = false;
  const std::vector<size_t> colors = mechanism_colors(records(page));
  for (size_t i = 0; i < page.runs.size(); ++i) {
    const RunRecord& run = page.runs[i].record;
    panel.series.push_back({run.name, {{run.step_ms, 100 * run.test_score}}, colors[i]});
  }
  return {"", {panel}};
}

std::string plot_figure(const Drawing& drawing, const std::string& description) {
  return fmt::format("<figure class=\"plot\" style=\"max-width:{:.0f}px\">{}</figure>\n", drawing.width,
                     to_inline_svg(drawing, description));
}

/// The color of the runs that have a mechanism of that name.
std::optional<size_t> color_of_mechanism(const Page& page, const std::string& name) {
  const std::vector<size_t> colors = mechanism_colors(records(page));
  for (size_t i = 0; i < page.runs.size(); ++i)
    if (AttentionSpec::parse(page.runs[i].record.attention).name == name) return colors[i];
  return std::nullopt;
}

std::string diversity_row(const Box& b) {
  return fmt::format(
      "<tr><th scope=\"row\">{}</th><td>{:.2f}</td><td>{:.2f}</td><td>{:.2f}</td><td>{:.2f}</td><td>{:.2f}</td></tr>\n",
      escaped_markup(b.name), b.min, b.q1, b.median, b.q3, b.max);
}

}  // namespace

std::string summary_section(const Page& page) {
  if (about_policies(page)) return "";
  const RunRecord& first = page.runs.front().record;
  double best = 0;
  for (const PageRun& run : page.runs)
    if (why_not_comparable(run.record, first).empty()) best = std::max(best, run.record.test_score);
  std::string rows, sentences;
  for (size_t i = 0; i < page.runs.size(); ++i) {
    rows += summary_row(page, i, first, best);
    if (i > 0) sentences += escaped_markup(comparison(page.runs[i].record, first)) + " ";
  }
  const std::string lead =
      fmt::format("{0} on {1}: {2} training {4}, {3} test {4}, {5:.0f} epochs. {6}", escaped_markup(first.model),
                  escaped_markup(first.data), grouped(first.train_samples), grouped(page.runs.front().test_samples),
                  escaped_markup(first.samples), first.epochs, sentences);
  return section(
      "summary", "Summary", lead,
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Summary table\"><table>\n<thead><tr><th "
      "scope=\"col\">run</th><th scope=\"col\" class=\"words\">attention</th><th scope=\"col\">test top-1</th><th "
      "scope=\"col\">top-5</th><th scope=\"col\">training samples/s</th><th scope=\"col\">pairs</th><th "
      "scope=\"col\">GMACs</th><th scope=\"col\">attention, ms of step</th><th scope=\"col\">memory, MB</th>"
      "<th scope=\"col\">parameters</th><th scope=\"col\" class=\"words\">model</th><th scope=\"col\" "
      "class=\"words\">data</th><th scope=\"col\">seed</th><th scope=\"col\">samples to train / test</th><th "
      "scope=\"col\">finished (UTC)</th></tr></thead>\n<tbody>\n" +
          rows + "</tbody></table></div>\n");
}

std::string seeds_section(const Page& page) {
  const std::vector<SeedGroup> groups = over_seeds(records(page));
  if (groups.empty()) return "";
  std::string rows;
  for (const SeedGroup& g : groups)
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped_markup(g.name),
                        g.score.count, interval_text(g.score),
                        &g == &groups.front() ? "" : difference_text(g.against_first));
  return section(
      "seeds", "Over seeds",
      "Runs that differ by their seed alone are one result: the mean with half of its 95 % interval. Against: the mean "
      "difference with the same seed, with p of a paired t-test; a star marks what is more than chance.",
      fmt::format("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Results over "
                  "seeds\"><table><thead><tr><th scope=\"col\">result</th><th scope=\"col\">seeds</th><th "
                  "scope=\"col\">test {}</th><th scope=\"col\">against {}</th></tr></thead><tbody>\n{}</tbody></table>"
                  "</div>\n",
                  escaped_markup(page.runs.front().record.score_label()), escaped_markup(groups.front().name), rows));
}

std::string curves_section(const Page& page) {
  std::string plots;
  for (const Panel& panel : run_curve_panels(records(page)))
    plots += plot_figure(draw(LinePlot{"", {panel}}), fmt::format("{} of {}", panel.title, names(page)));
  if (plots.empty()) return "";
  return section("curves", "Learning curves",
                 about_policies(page)
                     ? "What the demonstrations cost and how the averaged weights played, by epoch and by time."
                     : "What the training set cost and how the held-out samples were classified, by epoch and by time.",
                 "<div class=\"row\">" + plots + "</div>\n");
}

std::string cost_section(const Page& page) {
  if (about_policies(page)) return "";
  const auto timed = [](const PageRun& run) { return run.record.step_ms > 0; };
  if (!std::all_of(page.runs.begin(), page.runs.end(), timed)) return "";
  return section("cost", "Cost and accuracy", "Up and to the left is better: more right answers for less time.",
                 plot_figure(draw(cost_plot(page)), "test accuracy against the time of a step of " + names(page)));
}

std::string diversity_section(const Page& page) {
  BoxPlot plot{"head diversity over images", "percent", {}};
  const std::vector<size_t> colors = mechanism_colors(records(page));
  for (size_t i = 0; i < page.runs.size(); ++i) {
    if (!page.runs[i].diversity) continue;
    plot.boxes.push_back(*page.runs[i].diversity);
    plot.boxes.back().color = colors[i];
  }
  if (plot.boxes.empty()) return "";
  for (Box box : page.paper_diversity) {
    box.color = color_of_mechanism(page, box.name);
    box.name = "paper: " + box.name;
    box.reference = true;
    plot.boxes.push_back(box);
  }
  std::string rows;
  for (const Box& box : plot.boxes) rows += diversity_row(box);
  return section(
      "diversity", "Head diversity",
      fmt::format(
          "How different the heads of the last layer are, over {} test images: 0 for equal heads, 100 for opposite "
          "ones. Hollow: the paper's ViT-B on CIFAR-10.",
          grouped(page.diversity_images)),
      "<div class=\"row\">" + plot_figure(draw(plot), "box plot of head diversity") +
          "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Head diversity "
          "table\"><table><thead><tr><th "
          "scope=\"col\">percent</th><th scope=\"col\">min</th><th scope=\"col\">Q1</th><th "
          "scope=\"col\">median</th><th "
          "scope=\"col\">Q3</th><th scope=\"col\">max</th></tr></thead><tbody>\n" +
          rows + "</tbody></table></div></div>\n");
}

std::string commands_section(const Page& page) {
  std::string body = "<pre>";
  for (const PageRun& run : page.runs)
    body += escaped_markup(fmt::format("fib train --recipe {0}/config.toml --out {0}-again\n", run.directory));
  body += escaped_markup(page.made_by) + "</pre>\n";
  for (const PageRun& run : page.runs)
    body += fmt::format("<details><summary>configuration of {}</summary><pre>{}</pre></details>\n",
                        escaped_markup(run.record.name), escaped_markup(run.config));
  return section("commands", "Commands and configuration", "What makes the runs and this page again.", body);
}

}  // namespace fib::report
