// SPDX-License-Identifier: Apache-2.0
// The first screen: accuracy, speed and pairs as large numbers, with what they were measured on and how sure they are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/machine.h"
#include "report/drawing.h"
#include "report/page/sections.h"
#include "report/run_comparison.h"
#include "report/text.h"

namespace fib::report {
namespace {

/// How far a share of n samples is off in 19 of 20 cases, in points (the normal approximation).
double margin_points(double share, int64_t samples) {
  const double n = static_cast<double>(std::max<int64_t>(1, samples));
  return 100 * 1.96 * std::sqrt(share * (1 - share) / n);
}

/// The run that the numbers are of: the best of those that are compared with the first, or the only one.
size_t headline_run(const Page& page) {
  const RunRecord& first = page.runs.front().record;
  size_t best = 0;
  for (size_t i = 1; i < page.runs.size(); ++i) {
    const RunRecord& run = page.runs[i].record;
    const bool better = best == 0 || run.test_score > page.runs[best].record.test_score;
    if (why_not_comparable(run, first).empty() && better) best = i;
  }
  return best;
}

/// Every run's value below the large one.
template <class Value>
std::string run_values(const Page& page, Value value) {
  if (page.runs.size() < 2) return "";
  std::string rows;
  for (size_t i = 0; i < page.runs.size(); ++i)
    rows += fmt::format("<li>{}<span>{}</span></li>", run_name(page, i), value(page.runs[i].record));
  return "<ul>" + rows + "</ul>";
}

std::string card(const std::string& title, const std::string& number, const std::string& what,
                 const std::string& values) {
  return fmt::format("<div class=\"card\"><h2>{}</h2><p class=\"big\">{}</p>{}<p>{}</p></div>\n", title, number, values,
                     what);
}

std::string accuracy_difference(const RunRecord& run, const RunRecord& first) {
  const double points = 100 * (run.test_score - first.test_score);
  const double margin =
      std::hypot(margin_points(run.test_score, run.test_samples), margin_points(first.test_score, first.test_samples));
  return fmt::format("{:.1f} points {} than {}, give or take {:.1f}: {}", std::abs(points),
                     points < 0 ? "less" : "more", escaped_markup(first.name), margin,
                     std::abs(points) > margin
                         ? "more than chance."
                         : fmt::format("these {} cannot tell them apart.", escaped_markup(run.samples)));
}

std::string accuracy_card(const Page& page, size_t which) {
  const RunRecord& run = page.runs[which].record;
  const std::string sure =
      which == 0 ? fmt::format("± {:.1f} points in 19 of 20 cases.", margin_points(run.test_score, run.test_samples))
                 : accuracy_difference(run, page.runs.front().record);
  return card(
      "Accuracy", fmt::format("{:.1f} %", 100 * run.test_score),
      fmt::format("Top-1 of {} on {} test {} of {}, one run with seed {}. {}", escaped_markup(run.name),
                  grouped(run.test_samples), escaped_markup(run.samples), escaped_markup(run.data), run.seed, sure),
      run_values(page, [](const RunRecord& r) { return fmt::format("{:.1f} %", 100 * r.test_score); }));
}

std::string speed_card(const Page& page, size_t which) {
  const RunRecord &run = page.runs[which].record, &first = page.runs.front().record;
  const auto rate = [](const RunRecord& r) {
    return known_rate(r.samples_per_second, fmt::format(" {}/s", escaped_markup(r.samples)));
  };
  const std::string ratio = speed_ratio(run, first);
  return card(
      "Training speed", which == 0 || ratio == "–" ? rate(run) : ratio,
      fmt::format("{}Mean of {} steps of one run, {} threads{}{}; what else the machine did meanwhile is not known.",
                  which == 0 ? "" : fmt::format("Against {}. ", escaped_markup(first.name)), grouped(run.steps),
                  run.threads, run.processes > 1 ? fmt::format(" in each of {} processes", run.processes) : "",
                  run.machine.empty() ? "" : " of " + escaped_markup(machine_text(run.machine))),
      run_values(page, rate));
}

std::string pairs_card(const Page& page, size_t which) {
  const auto share = [](const RunRecord& r) { return fmt::format("{:.1f} %", 100 * r.pair_share); };
  return card("Pairs", share(page.runs[which].record),
              "Of all pairs of tokens in the attention layers, class token included. Counted, not measured: exact.",
              run_values(page, share));
}

}  // namespace

std::string headline_section(const Page& page) {
  if (about_policies(page) || about_sequences(page)) return "";
  const size_t which = headline_run(page);
  const std::string beside = which == 0 ? "" : ", beside " + escaped_markup(page.runs.front().record.name);
  return fmt::format(
      "<section id=\"results\" aria-labelledby=\"results-title\"><h2 id=\"results-title\">{}{}</h2>\n<div "
      "class=\"cards\">\n{}{}{}</div></section>\n",
      run_name(page, which), beside, accuracy_card(page, which), speed_card(page, which), pairs_card(page, which));
}

std::string facts(const Page& page) {
  std::string rows;
  for (size_t i = 0; i < page.runs.size(); ++i) {
    const RunRecord& r = page.runs[i].record;
    rows += fmt::format("<dt>{}</dt><dd>{}, seed {}, {:.0f} epochs in {:.0f} s on {} threads{}, finished {} UTC</dd>\n",
                        run_name(page, i), escaped_markup(r.attention), r.seed, r.epochs, r.train_seconds, r.threads,
                        r.machine.empty() ? "" : " of " + escaped_markup(machine_text(r.machine)),
                        escaped_markup(r.finished));
  }
  if (!page.made_on.empty())
    rows += fmt::format("<dt>This page</dt><dd>made {} on {} by <code>{}</code></dd>\n", escaped_markup(page.made_at),
                        escaped_markup(machine_text(page.made_on)), escaped_markup(page.made_by));
  return "<dl class=\"facts\">\n" + rows + "</dl>\n";
}

}  // namespace fib::report
