// SPDX-License-Identifier: Apache-2.0
#include "bench/torch/data_bench.h"

#include "bench/timing.h"
#include "bench/torch/model_contestant.h"
#include "training/torch/experiment.h"
#include "training/torch/stopwatch.h"

namespace fib::bench {
namespace {

double loader_speed(const Loader& loader, double seconds) {
  const training::Stopwatch watch;
  double images = 0;
  for (uint64_t epoch = 0; watch.seconds() < seconds; ++epoch) {
    BatchStream stream = loader.epoch(epoch);
    while (const auto batch = stream.next()) {
      images += static_cast<double>(batch->size());
      if (watch.seconds() >= seconds) break;
    }
  }
  return images / watch.seconds();
}

double training_speed(const models::Dimensions& dims, int64_t batch, double seconds) {
  ModelContestant contestant(dims, ModelPass::training, batch);
  const Timing timing = time_interleaved({[&] { contestant.run(); }}, {.seconds = seconds}).front();
  return static_cast<double>(batch) / (timing.min_ms / 1e3);
}

}  // namespace

DataBench bench_data(const training::Recipe& recipe, double seconds) {
  const training::Experiment experiment = training::prepare(recipe);
  return {loader_speed(*experiment.train, seconds),
          training_speed(experiment.model->dimensions(), recipe.batch, seconds)};
}

}  // namespace fib::bench
