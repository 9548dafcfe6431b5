// SPDX-License-Identifier: Apache-2.0
// The parts of the page that are tables and plots.
#include <fmt/format.h>

#include <algorithm>

#include "report/fields.h"
#include "report/page/sections.h"
#include "report/run_comparison.h"
#include "report/text.h"

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

/// A run of the page, and what it is compared with.
struct SummaryRow {
  const Page& page;
  size_t index = 0;
  bool best = false;

  const PageRun& run() const { return page.runs[index]; }
  const RunRecord& record() const { return run().record; }
  const RunRecord& first() const { return page.runs.front().record; }
};

std::string rate_and_ratio(const SummaryRow& row) {
  const std::string ratio = speed_ratio(row.record(), row.first());
  return known_rate(row.record().samples_per_second, "") + (ratio == kNoValue ? "" : " (" + ratio + ")");
}

Field<SummaryRow> word(const char* title, std::string RunRecord::*value) {
  return shown_field<SummaryRow>(
      title, [value](const SummaryRow& r) { return r.record().*value; }, Table::Align::left);
}

Fields<SummaryRow> summary_fields() {
  using Row = SummaryRow;
  Field<Row> name = word("run", &RunRecord::name);
  name.html = [](const Row& r) { return html_row_name(run_name(r.page, r.index)); };
  Field<Row> top1 =
      shown_field<Row>("test top-1", [](const Row& r) { return fixed(100 * r.record().test_score, 2) + " %"; });
  top1.html = [text = top1.text](const Row& r) {
    return r.best ? "<td class=\"best\">" + text(r) + "</td>" : html_cell(text(r), false);
  };
  return {name,
          word("attention", &RunRecord::attention),
          top1,
          shown_field<Row>("top-5", [](const Row& r) { return fixed(100 * r.run().top5, 2) + " %"; }),
          shown_field<Row>("training samples/s", rate_and_ratio),
          shown_field<Row>("pairs", [](const Row& r) { return fixed(100 * r.record().pair_share, 1) + " %"; }),
          shown_field<Row>("GMACs", [](const Row& r) { return fixed(r.run().gmacs, 3); }),
          shown_field<Row>("attention, ms of step",
                           [](const Row& r) {
                             return known_number(r.record().attention_ms, 1, "") + " of " +
                                    known_number(r.record().step_ms, 1, "");
                           }),
          shown_field<Row>("memory, MB", [](const Row& r) { return fixed(r.record().peak_memory_mb, 0); }),
          shown_field<Row>("parameters", [](const Row& r) { return grouped(r.run().parameters); }),
          word("model", &RunRecord::model),
          word("data", &RunRecord::data),
          shown_field<Row>("seed", [](const Row& r) { return std::to_string(r.record().seed); }),
          shown_field<Row>(
              "samples to train / test",
              [](const Row& r) { return grouped(r.record().train_samples) + " / " + grouped(r.run().test_samples); }),
          shown_field<Row>("finished (UTC)", [](const Row& r) { return r.record().finished; })};
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

/// The color of the runs that have a mechanism of that name.
std::optional<size_t> color_of_mechanism(const Page& page, const std::string& name) {
  const std::vector<size_t> colors = mechanism_colors(records(page));
  for (size_t i = 0; i < page.runs.size(); ++i)
    if (AttentionSpec::parse(page.runs[i].record.attention).name == name) return colors[i];
  return std::nullopt;
}

Field<Box> quartile(const char* title, double Box::*value) {
  return shown_field<Box>(title, [value](const Box& b) { return fixed(b.*value, 2); });
}

Fields<Box> box_fields() {
  return {shown_field<Box>(
              "percent", [](const Box& b) { return b.name; }, Table::Align::left),
          quartile("min", &Box::min),
          quartile("Q1", &Box::q1),
          quartile("median", &Box::median),
          quartile("Q3", &Box::q3),
          quartile("max", &Box::max)};
}

}  // namespace

std::string plot_figure(const Drawing& drawing, const std::string& description) {
  return fmt::format("<figure class=\"plot\" style=\"max-width:{:.0f}px\">{}</figure>\n", drawing.width,
                     to_inline_svg(drawing, description));
}

std::string summary_section(const Page& page) {
  if (about_policies(page) || about_sequences(page)) return "";
  const RunRecord& first = page.runs.front().record;
  double best = 0;
  for (const PageRun& run : page.runs)
    if (why_not_comparable(run.record, first).empty()) best = std::max(best, run.record.test_score);
  std::vector<SummaryRow> rows;
  std::string sentences;
  for (size_t i = 0; i < page.runs.size(); ++i) {
    const RunRecord& run = page.runs[i].record;
    rows.push_back({page, i, run.test_score == best && why_not_comparable(run, first).empty()});
    if (i > 0) sentences += escaped_markup(comparison(run, first)) + " ";
  }
  const std::string lead =
      fmt::format("{0} on {1}: {2} training {4}, {3} test {4}, {5:.0f} epochs. {6}", escaped_markup(first.model),
                  escaped_markup(first.data), grouped(first.train_samples), grouped(page.runs.front().test_samples),
                  escaped_markup(first.samples), first.epochs, sentences);
  return section("summary", "Summary", lead, fields_html(summary_fields(), rows, "Summary table"));
}

std::string seeds_section(const Page& page) {
  const std::vector<SeedGroup> groups = over_seeds(records(page));
  if (groups.empty()) return "";
  return section(
      "seeds", "Over seeds",
      "Runs that differ by their seed alone are one result: the mean with half of its 95 % interval. Against: the mean "
      "difference with the same seed, with p of a paired t-test; a star marks what is more than chance.",
      fields_html(seed_fields(groups.front().name), groups, "Results over seeds"));
}

std::string curves_section(const Page& page) {
  std::string plots;
  for (const Panel& panel : run_curve_panels(records(page)))
    plots += plot_figure(draw(LinePlot{"", {panel}}), fmt::format("{} of {}", panel.title, names(page)));
  if (plots.empty()) return "";
  return section("curves", "Learning curves",
                 about_policies(page)
                     ? "What the demonstrations cost and how the averaged weights played, by epoch and by time."
                 : about_sequences(page)
                     ? "The loss of training and the figure of the held-out part, by epoch and by time."
                     : "What the training set cost and how the held-out samples were classified, by epoch and by time.",
                 "<div class=\"row\">" + plots + "</div>\n");
}

std::string cost_section(const Page& page) {
  if (about_policies(page) || about_sequences(page)) return "";
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
  return section(
      "diversity", "Head diversity",
      fmt::format(
          "How different the heads of the last layer are, over {} test images: 0 for equal heads, 100 for opposite "
          "ones. Hollow: the paper's ViT-B on CIFAR-10.",
          grouped(page.diversity_images)),
      "<div class=\"row\">" + plot_figure(draw(plot), "box plot of head diversity") +
          fields_html(box_fields(), plot.boxes, "Head diversity table") + "</div>\n");
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
