// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/nearest.h"
#include "base/printable.h"
#include "cli/command.h"
#include "cli/output.h"
#include "report/run_comparison.h"
#include "report/run_curves.h"
#include "report/run_record.h"
#include "report/runs_json.h"
#include "report/seeds.h"
#include "report/table.h"
#include "report/words.h"
#include "training/run/figures.h"

namespace fib::cli {
namespace {

using report::Table;

using report::RunRecord;

struct RunsArguments {
  std::vector<std::string> directories, plots;
  std::string against;
  bool json = false;
};

/// What the others are compared with comes first.
void put_first(std::vector<RunRecord>& runs, const std::string& attention) {
  std::set<std::string> known;
  for (const RunRecord& run : runs) known.insert(run.attention);
  if (!known.contains(attention))
    throw std::invalid_argument(unknown_name("attention of these runs", attention, {known.begin(), known.end()}));
  std::ranges::stable_partition(runs, [&](const RunRecord& run) { return run.attention == attention; });
}

/// What was run: what must agree before two results can be compared, and what tells them apart.
std::string runs_table(const std::vector<RunRecord>& runs) {
  using enum Table::Align;
  Table table({{"run"},
               {"model"},
               {"attention"},
               {"data"},
               {"seed", right},
               {"epochs", right},
               {"images", right},
               {"test images", right},
               {"finished (UTC)"}});
  for (const RunRecord& run : runs)
    table.add_row({run.name, run.model, run.attention, run.data, fmt::format("{}", run.seed),
                   fmt::format("{:.0f}", run.epochs), report::grouped(run.train_samples),
                   report::grouped(run.test_samples), run.finished});
  return table.to_string();
}

/// What came of it.
std::string results_table(const std::vector<RunRecord>& runs) {
  using enum Table::Align;
  using report::known_figure;
  Table table({{"run"},
               {"test", right},
               {"images/s", right},
               {"speed", right},
               {"pairs", right},
               {"attention", right},
               {"of step", right},
               {"memory", right}});
  for (const RunRecord& run : runs)
    table.add_row({run.name,
                   fmt::format("{} {}", training::figure_text({run.score, run.test_score}),
                               training::figure_style(run.score).label),
                   report::known_rate(run.samples_per_second, ""), speed_ratio(run, runs.front()),
                   fmt::format("{:.1f} %", 100 * run.pair_share), known_figure(run.attention_ms, 1, " ms"),
                   known_figure(run.step_ms, 1, " ms"), fmt::format("{:.0f} MB", run.peak_memory_mb)});
  return table.to_string();
}

/// Empty where every result has one seed.
std::string seeds_table(const std::vector<report::SeedGroup>& groups) {
  if (groups.empty()) return "";
  using enum Table::Align;
  Table table({{"over seeds"}, {"seeds", right}, {"test", right}, {"against " + groups.front().name, right}});
  for (const report::SeedGroup& g : groups)
    table.add_row({g.name, fmt::format("{}", g.score.count), report::interval_text(g.score),
                   &g == &groups.front() ? "" : report::difference_text(g.against_first)});
  return "\n" + table.to_string() +
         "\nMean ± half of its 95 % interval; against: the mean difference with the same seed, with p of a paired "
         "t-test, * below 0.05.\n";
}

nlohmann::ordered_json runs_json(const std::vector<RunRecord>& runs) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const RunRecord& run : runs) rows.push_back(report::run_json(run));
  return {{"rows", rows}, {"over_seeds", report::seeds_json(report::over_seeds(runs))}};
}

/// Sentences about single runs, where no table judges them together.
std::string verdicts(const std::vector<RunRecord>& runs) {
  std::string text;
  for (size_t i = 1; i < runs.size(); ++i) text += printable(comparison(runs[i], runs.front()), 1000) + "\n";
  return text;
}

void run(const RunsArguments& a, const Globals& globals) {
  for (const std::string& plot : a.plots) report::check_drawing_output(plot);
  std::vector<RunRecord> runs;
  for (const std::string& path : a.directories)
    for (RunRecord& record : report::read_runs(path)) runs.push_back(std::move(record));
  if (!a.against.empty()) put_first(runs, a.against);
  if (a.json) {
    print_json(runs_json(runs));
  } else if (!globals.quiet) {
    const std::string together = seeds_table(report::over_seeds(runs));
    fmt::print("{}\n{}{}", runs_table(runs), results_table(runs), together.empty() ? "\n" + verdicts(runs) : together);
  }
  for (const std::string& plot : a.plots)
    write_plot(draw(report::LinePlot{"", report::run_curve_panels(runs)}), plot, a.json || globals.quiet);
}

void declare(CLI::App& command, RunsArguments& a) {
  command
      .add_option("DIR", a.directories,
                  "directories of finished runs, or files of rows that --json wrote; others are compared with the "
                  "first")
      ->required()
      ->expected(1, 64);
  command.add_option("--plot", a.plots, "loss and accuracy as .svg or .png; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  command.add_option("--against", a.against, "compare with the runs of this attention instead of the first")
      ->type_name("SPEC");
  command.add_flag("--json", a.json, "print JSON");
  command.footer(
      "Runs that differ by their seed alone are one result, with an interval and a paired test against the first, or "
      "against --against.\n"
      "Example: fib runs runs/full runs/fibottention --plot curves.svg\n"
      "Example: fib runs runs/full-0 runs/full-1 runs/fibottention-0 runs/fibottention-1 --json > kept.json\n"
      "Example: fib runs kept.json --against fibottention");
}

}  // namespace

Command runs_command() {
  return make_command<RunsArguments>({"runs", "finished training runs side by side: table and curves", Topic::trained},
                                     declare, run);
}

}  // namespace fib::cli
