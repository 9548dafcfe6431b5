// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <deque>
#include <functional>
#include <memory>

#include "base/measure.h"
#include "bench/benchmarks.h"
#include "bench/measure.h"
#include "prediction/engine_predictor.h"

namespace fib::bench {
namespace {

using prediction::EnginePredictor;

/// A compiled model at one of its sizes.
struct Contestant {
  ModelBenchRow row;
  std::shared_ptr<EnginePredictor> model;
  std::vector<float> samples;

  void run() {
    model->use_single_views(row.resolution);
    model->logits(samples);
  }
};

std::vector<float> some_samples(const PipelineConfig& view, int64_t batch) {
  std::vector<float> values(static_cast<size_t>(batch) * Pipeline(view).values());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(0.01 * static_cast<double>(i)));
  return values;
}

void add_contestants(const std::string& file, int64_t batch, const engine::Limits& limits,
                     std::deque<Contestant>& all) {
  const PeakMemory memory;
  const auto model = std::make_shared<EnginePredictor>(file, prediction::InputOverrides{}, limits);
  for (const int64_t resolution : model->resolutions()) {
    model->use_single_views(resolution);
    const prediction::ModelInfo& info = model->info();
    Contestant& c = all.emplace_back();
    c.row.engine = file, c.row.resolution = resolution, c.row.batch = batch;
    c.row.model = info.model, c.row.attention = info.attention, c.row.precision = info.precision;
    c.row.needs = model->requirements();
    c.model = model;
    c.samples = some_samples(info.view, batch);
    c.run();
    if (const auto growth = memory.growth()) c.row.peak_memory_mb = static_cast<double>(*growth) / kMegabyte;
  }
}

}  // namespace

const char* to_string(ModelPass pass) { return pass == ModelPass::forward ? "forward" : "training step"; }

double StepProfile::total_ms() const {
  double sum = between_ms + optimizer_ms;
  for (const KindTime& k : kinds) sum += k.forward_ms + k.backward_ms;
  return sum;
}

std::vector<ModelBenchRow> bench_engines(const std::vector<std::string>& files, int64_t batch,
                                         const TimingOptions& timing, const engine::Limits& limits) {
  std::deque<Contestant> all;
  for (const std::string& file : files) add_contestants(file, batch, limits, all);
  std::vector<std::function<void()>> runs;
  for (Contestant& c : all) runs.emplace_back([&c] { c.run(); });
  const std::vector<Timing> timings = time_interleaved(runs, timing);
  std::vector<ModelBenchRow> rows;
  for (size_t i = 0; i < all.size(); ++i) {
    ModelBenchRow& row = rows.emplace_back(std::move(all[i].row));
    row.ms = timings[i].min_ms;
    row.ms_median = timings[i].median_ms;
    row.images_per_second = 1e3 * static_cast<double>(batch) / timings[i].min_ms;
  }
  return rows;
}

}  // namespace fib::bench
