// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/output.h"
#include "report/run_comparison.h"

namespace fib::cli {
namespace {

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

void run(const RunsArguments& a, const Globals& globals) {
  for (const std::string& plot : a.plots) report::check_drawing_output(plot);
  std::vector<RunRecord> runs;
  for (const std::string& path : a.directories)
    for (RunRecord& record : report::read_runs(path)) runs.push_back(std::move(record));
  if (!a.against.empty()) put_first(runs, a.against);
  show(
      globals, a.json, [&] { return report::runs_json(runs); }, [&] { return report::runs_text(runs); });
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
