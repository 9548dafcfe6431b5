// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "report/table.h"
#include "report/run_curves.h"
#include "report/run_record.h"

namespace fib::cli {
namespace {

using report::Table;

using report::RunRecord;

struct RunsArguments {
  std::vector<std::string> directories, plots;
  bool json = false;
};

/// "3.4 ×"; a run that was resumed with no step left has no speed.
std::string times(const RunRecord& run, const RunRecord& first) {
  const bool known = run.images_per_second > 0 && first.images_per_second > 0;
  return known ? fmt::format("{:.1f} ×", run.images_per_second / first.images_per_second) : "-";
}

std::string or_dash(double value, const char* unit, int digits) {
  return value > 0 ? fmt::format("{:.{}f}{}", value, digits, unit) : "-";
}

std::string runs_table(const std::vector<RunRecord>& runs) {
  using enum Table::Align;
  Table table({{"run"},
               {"attention"},
               {"test top-1", right},
               {"images/s", right},
               {"speed", right},
               {"pairs", right},
               {"attention", right},
               {"of step", right},
               {"memory", right}});
  for (const RunRecord& run : runs)
    table.add_row({run.name, run.attention, fmt::format("{:.2f} %", 100 * run.test_top1),
                   or_dash(run.images_per_second, "", 0), times(run, runs.front()),
                   fmt::format("{:.1f} %", 100 * run.pair_share), or_dash(run.attention_ms, " ms", 1),
                   or_dash(run.step_ms, " ms", 1), fmt::format("{:.0f} MB", run.peak_memory_mb)});
  return table.to_string();
}

/// "fibottention looks at 3.0 % of the pairs, trains 3.4 × as fast as full and is 0.4 points better on the test
/// images."
std::string verdict(const RunRecord& run, const RunRecord& first) {
  const double points = 100 * (run.test_top1 - first.test_top1);
  const std::string judged =
      std::abs(points) < 0.05 ? std::string("is as good")
                              : fmt::format("is {:.1f} points {}", std::abs(points), points > 0 ? "better" : "worse");
  const std::string speed = times(run, first);
  const std::string trains =
      speed == "-" ? "was not timed against " + first.name : fmt::format("trains {} as fast as {}", speed, first.name);
  return fmt::format("{} looks at {:.1f} % of the pairs, {} and {} on the test images.\n", run.name,
                     100 * run.pair_share, trains, judged);
}

nlohmann::ordered_json runs_json(const std::vector<RunRecord>& runs) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const RunRecord& run : runs)
    rows.push_back({{"run", run.name},
                    {"model", run.model},
                    {"attention", run.attention},
                    {"data", run.data},
                    {"seed", run.seed},
                    {"epochs", run.epochs},
                    {"test_top1", run.test_top1},
                    {"images_per_second", run.images_per_second},
                    {"pair_share", run.pair_share},
                    {"attention_ms", run.attention_ms},
                    {"step_ms", run.step_ms},
                    {"peak_memory_mb", run.peak_memory_mb}});
  return {{"rows", rows}};
}

void run(const RunsArguments& a, const Globals& globals) {
  for (const std::string& plot : a.plots) report::check_drawing_output(plot);
  std::vector<RunRecord> runs;
  for (const std::string& directory : a.directories) runs.push_back(report::read_run(directory));
  for (const std::string& plot : a.plots) report::write_drawing(draw(report::LinePlot{"", report::run_curve_panels(runs)}), plot);
  if (a.json) {
    fmt::print("{}\n", runs_json(runs).dump());
  } else if (!globals.quiet) {
    fmt::print("{}\n", runs_table(runs));
    for (size_t i = 1; i < runs.size(); ++i) fmt::print("{}", verdict(runs[i], runs.front()));
  }
}

void declare(CLI::App& command, RunsArguments& a) {
  command.add_option("DIR", a.directories, "directories of finished runs; others are compared with the first")
      ->required()
      ->expected(1, 64);
  command.add_option("--plot", a.plots, "loss and accuracy as .svg or .png; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  command.add_flag("--json", a.json, "for machines");
  command.footer("Example: fib runs runs/full runs/fibottention --plot curves.svg");
}

}  // namespace

Command runs_command() {
  return make_command<RunsArguments>({"runs", "finished training runs side by side: table and curves", Topic::trained},
                                     declare, run);
}

}  // namespace fib::cli
