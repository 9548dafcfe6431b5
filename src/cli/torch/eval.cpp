// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/eval.h"

#include "cli/evaluation.h"
#include "cli/progress.h"
#include "cli/torch/subject_options.h"
#include "training/torch/classification.h"

namespace fib::cli {
namespace {

using training::TrainedModel;

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
  show_evaluation(subject, result, a.json, globals.quiet);
}

const TorchRunner<EvalArguments> eval_runner(run);

}  // namespace
}  // namespace fib::cli
