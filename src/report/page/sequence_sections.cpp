// SPDX-License-Identifier: Apache-2.0
// The parts of the page that only decoders of texts and time series have.
#include <fmt/format.h>

#include <algorithm>

#include "report/page/sections.h"
#include "report/run_comparison.h"
#include "report/text.h"

namespace fib::report {
namespace {

/// Of the runs' tests, in the first run's order, as metrics.jsonl names them.
std::vector<std::string> figure_names(const Page& page) {
  std::vector<std::string> names;
  for (const PageRun& run : page.runs)
    for (const training::Metric& figure : run.sequence->figures)
      if (std::ranges::find(names, figure.name) == names.end()) names.push_back(figure.name);
  return names;
}

std::string figure_text(const PageRun& run, const std::string& name) {
  const auto found = std::ranges::find(run.sequence->figures, name, &training::Metric::name);
  return found == run.sequence->figures.end() ? "–" : fixed(found->value, 4);
}

Fields<PageRun> sequence_fields(const Page& page) {
  Fields<PageRun> figures;
  for (const std::string& name : figure_names(page))
    figures.push_back(shown_field<PageRun>(name, [name](const PageRun& r) { return figure_text(r, name); }));
  return run_fields(figures);
}

}  // namespace

std::string sequences_section(const Page& page) {
  if (!about_sequences(page)) return "";
  const RunRecord& first = page.runs.front().record;
  std::string sentences;
  for (size_t i = 1; i < page.runs.size(); ++i)
    sentences += escaped_markup(comparison(page.runs[i].record, first)) + " ";
  return section(
      "summary", "Summary",
      fmt::format("{} on {}: {} training and {} test windows. {}", escaped_markup(first.model),
                  escaped_markup(first.data), grouped(first.train_samples), grouped(first.test_samples), sentences),
      fields_html(sequence_fields(page), page.runs, "Summary table"));
}

std::string made_section(const Page& page) {
  if (!about_sequences(page)) return "";
  std::string body;
  for (size_t i = 0; i < page.runs.size(); ++i) {
    const LearnedSequence& learned = *page.runs[i].sequence;
    body += fmt::format("<h3>{}</h3>\n", run_name(page, i));
    if (!learned.text.empty()) body += "<pre>" + escaped_markup(learned.text) + "</pre>\n";
    if (learned.forecast)
      body += plot_figure(draw(*learned.forecast), "forecast of " + page.runs[i].record.name + " and what came");
    if (!learned.note.empty()) body += "<p>" + escaped_markup(learned.note) + "</p>\n";
  }
  return section("made", "What they write and forecast",
                 "A text as it is written with temperature 0.8 and seed 0; a series' last steps from those before "
                 "them, beside the truth.",
                 body);
}

}  // namespace fib::report
