// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/eval.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/progress.h"
#include "cli/torch/subject_options.h"
#include "report/table.h"
#include "report/words.h"
#include "training/torch/classification.h"

namespace fib::cli {
namespace {

using report::Table;

using training::TrainedModel;

nlohmann::ordered_json evaluation_json(const TrainedModel& c, const training::Accuracy& e) {
  return {{"model", c.model},      {"attention", c.attention},
          {"data", c.data},        {"images", e.images},
          {"top1", e.top1},        {"top5", e.top5},
          {"loss", e.loss},        {"images_per_second", e.images_per_second()},
          {"input", input_json(c)}};
}

std::string evaluation_text(const TrainedModel& c, const training::Accuracy& e) {
  Table table({{}, {}});
  table.add_row({"model", c.model + ", " + c.attention + " attention"});
  table.add_row({"data", fmt::format("{}, {} images", c.data, report::grouped(e.images))});
  table.add_row({"input", c.input_text()});
  table.add_row({"top-1", fmt::format("{:.2f} %", 100 * e.top1)});
  table.add_row({"top-5", fmt::format("{:.2f} %", 100 * e.top5)});
  table.add_row({"loss", fmt::format("{:.4f}", e.loss)});
  table.add_row({"speed", fmt::format("{:.1f} images/s", e.images_per_second())});
  return table.to_string();
}

training::Accuracy evaluate(const TrainedModel& subject, bool quiet) {
  training::check_labels(*subject.dataset, *subject.module);
  ProgressBar progress("images", static_cast<int64_t>(subject.dataset->size()), quiet);
  training::ProcessGroup alone;
  return training::measure_accuracy(*subject.module, *subject.loader(subject.dataset), alone,
                                    {.progress = [&](int64_t done, int64_t /*total*/) { progress.show(done); }});
}

void run(const EvalArguments& a, const Globals& globals) {
  const TrainedModel subject = open_subjects(a.subject, globals.quiet).front();
  const training::Accuracy result = evaluate(subject, globals.quiet || a.json);
  if (a.json) {
    print_json(evaluation_json(subject, result));
  } else if (!globals.quiet) {
    fmt::print("{}", evaluation_text(subject, result));
  }
}

const TorchRunner<EvalArguments> eval_runner(run);

}  // namespace
}  // namespace fib::cli
