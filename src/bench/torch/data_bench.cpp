// SPDX-License-Identifier: Apache-2.0
#include "base/measure.h"
#include "bench/measure.h"
#include "bench/torch/model_bench.h"
#include "training/torch/training_step.h"

namespace fib::bench {
namespace {

double loader_speed(training::Task& task, double seconds) {
  const Stopwatch watch;
  double samples = 0;
  for (int64_t epoch = 0; watch.seconds() < seconds; ++epoch) {
    const auto stream = task.epoch(epoch, 0);
    while (const auto batch = stream->next()) {
      samples += static_cast<double>(batch->size());
      if (watch.seconds() >= seconds) break;
    }
  }
  return samples / watch.seconds();
}

/// Steps as the trainer takes them, with one batch again and again.
double training_speed(training::Experiment& experiment, double seconds) {
  training::ProcessGroup alone;
  training::TrainingStep step(*experiment.task, experiment.hook.get(), experiment.recipe, alone);
  const training::TaskBatch batch = experiment.task->epoch(0, 0)->next().value();
  experiment.task->network().train();
  int64_t steps = 0;
  const auto run = [&] {
    step.gradients(batch, steps++);
    step.update(experiment.recipe.schedule.min_lr);
  };
  const Timing timing = time_interleaved({run}, {.seconds = seconds}).front();
  return static_cast<double>(batch.size()) / (timing.min_ms / 1e3);
}

}  // namespace

DataBench bench_data(const training::Recipe& recipe, double seconds, const std::vector<training::TaskRow>& tasks) {
  training::Experiment experiment = training::prepare(recipe, {}, tasks);
  const double loader = loader_speed(*experiment.task, seconds);
  return {experiment.task->facts().samples, loader, training_speed(experiment, seconds)};
}

}  // namespace fib::bench
