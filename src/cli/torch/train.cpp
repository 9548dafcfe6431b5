// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/train.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/output.h"
#include "cli/torch/train_session.h"
#include "report/table.h"
#include "report/words.h"

namespace fib::cli {
namespace {

using report::Table;

using namespace training;

/// "91.23 % top-1, 99.60 % top-5"
std::string figures_text(const std::vector<Figure>& figures) {
  std::string text;
  for (const Figure& figure : figures)
    if (figure_style(figure.name).result)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", figure_text(figure), figure_style(figure.name).label);
  return text;
}

std::string summary_text(const Summary& s) {
  Table table({{}, {}});
  table.add_row(
      {"test", fmt::format("{} on {} {} ({} weights of epoch {})", figures_text(s.test.evaluation.figures),
                           report::grouped(s.test.evaluation.samples), s.judged_by, s.test.weights, s.test.epoch)});
  if (s.speed)
    table.add_row(
        {"speed", fmt::format("{:.0f} {}/s; a step takes {:.1f} ms, {:.1f} of them in attention",
                              s.speed->samples_per_second, s.samples, s.speed->step_ms, s.speed->attention_ms)});
  table.add_row({"memory", fmt::format("{:.0f} MB at most", s.peak_memory_mb)});
  return table.to_string();
}

void tell(const TrainArguments& a, const RunFiles& files, bool quiet) {
  const Summary summary = read_summary(files);
  if (a.json)
    print_json(to_json(summary));
  else if (!quiet)
    fmt::print("{}", summary_text(summary));
}

void run(const TrainArguments& given, const Globals& globals) {
  TrainArguments a = given;
  if (globals.threads_given) a.threads = globals.threads;
  Session session = open_session(a, globals.quiet);
  if (session.recipe().prune_ratio > 0)
    throw std::invalid_argument("this recipe prunes (prune_ratio is not 0): use fib prune");
  run_session(session, a, globals.quiet);
  if (session.is_first()) tell(a, session.files(), globals.quiet);
}

const TorchRunner<TrainArguments> train_runner(run);

}  // namespace
}  // namespace fib::cli
