// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "base/measure.h"
#include "bench/benchmarks.h"
#include "bench/measure.h"
#include "kernels/machine.h"
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
    c.row.needs = engine::requirements(model->program());
    c.model = model;
    c.samples = some_samples(info.view, batch);
    c.run();
    if (const auto growth = memory.growth()) c.row.peak_memory_mb = static_cast<double>(*growth) / kMegabyte;
  }
}

// ---- Steps ----------------------------------------------------------------------------------------------------------

using engine::Role;
using engine::Step;

/// What the processor can do between registers, measured when it is first asked for.
class Peaks {
 public:
  double of(TensorType type) {
    double& peak = known_[type];
    if (peak == 0.0) peak = measure(type);
    return peak;
  }

 private:
  static double measure(TensorType type) {
    if (type == TensorType::i8) return peak_int8_gops();
    return type == TensorType::bf16 ? peak_bfloat16_gflops() : peak_gflops();
  }
  std::map<TensorType, double> known_;
};

const char* precision_name(TensorType type) {
  if (type == TensorType::i8) return "int8";
  return type == TensorType::bf16 ? "bf16" : "f32";
}

/// Its operation and what it takes along; of row_blocks those of the body.
std::string kind_of(const Step& step) {
  std::vector<std::string> bodies;
  for (const Step& inner : step.body) bodies.push_back(kind_of(inner));
  if (!bodies.empty()) return fmt::format("{}", fmt::join(bodies, "; "));
  std::string kind = name_of(step.kind);
  if (step.has(Role::norm_weights)) kind += ", layer norm";
  if (step.function != engine::Function::none) kind += fmt::format(", {}", name_of(step.function));
  return step.has(Role::residual) ? kind + ", residual" : kind;
}

std::string shape_of(const Step& step) {
  if (!step.body.empty()) {
    std::string text = std::to_string(step.as<engine::RowBlocks>().rows);
    text += fmt::format(" x {}", step.body.front().at(Role::x).sizes.back());
    for (const Step& inner : step.body) text += fmt::format(" -> {}", inner.at(Role::out).sizes.back());
    return text;
  }
  const std::vector<int64_t>& from = std::ranges::find_if(step.operands, &engine::Operand::given)->sizes;
  const std::vector<int64_t>& to = step.at(Role::out).sizes;
  if (from.size() == to.size() && std::equal(from.begin(), from.end() - 1, to.begin()))
    return fmt::format("{} -> {}", fmt::join(from, " x "), to.back());
  return fmt::format("{} -> {}", fmt::join(from, " x "), fmt::join(to, " x "));
}

EngineStep described(const Step& step, const engine::Program& program, double seconds, Peaks& peaks) {
  EngineStep row{kind_of(step), shape_of(step), {}, {}, 1e3 * seconds};
  const engine::Operand& weights = (step.body.empty() ? step : step.body.front()).at(Role::weights);
  if (weights.given()) row.weights = program.buffers[static_cast<size_t>(weights.buffer)].tensor;
  const engine::StepCost cost = row_of(step.kind).cost(step, program);
  if (cost.products.value() == 0) return row;
  row.precision = precision_name(cost.factors);
  row.gops = 2e-9 * static_cast<double>(cost.products.value()) / seconds;
  row.peak_share = *row.gops / peaks.of(cost.factors);
  return row;
}

/// Each step by itself: the shortest of its times.
std::vector<EngineStep> profile(Contestant& c, Peaks& peaks) {
  constexpr int kRuns = 10;
  c.model->use_single_views(c.row.resolution);
  std::vector<double> least = c.model->step_seconds(c.samples);
  for (int run = 1; run < kRuns; ++run) {
    const std::vector<double> now = c.model->step_seconds(c.samples);
    for (size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], now[i]);
  }
  const engine::Program& program = c.model->program();
  std::vector<EngineStep> steps;
  for (size_t i = 0; i < least.size(); ++i) steps.push_back(described(program.steps[i], program, least[i], peaks));
  return steps;
}

}  // namespace

const char* to_string(ModelPass pass) { return pass == ModelPass::forward ? "forward" : "training step"; }

double StepProfile::total_ms() const {
  double sum = between_ms + optimizer_ms;
  for (const KindTime& k : kinds) sum += k.forward_ms + k.backward_ms;
  return sum;
}

std::vector<ModelBenchRow> bench_engines(const std::vector<std::string>& files, const ModelBenchOptions& options,
                                         const engine::Limits& limits) {
  std::deque<Contestant> all;
  for (const std::string& file : files) add_contestants(file, options.batch, limits, all);
  std::vector<std::function<void()>> runs;
  for (Contestant& c : all) runs.emplace_back([&c] { c.run(); });
  const std::vector<Timing> timings = time_interleaved(runs, options.timing);
  Peaks peaks;
  std::vector<ModelBenchRow> rows;
  for (size_t i = 0; i < all.size(); ++i) {
    if (options.profile) all[i].row.steps = profile(all[i], peaks);
    ModelBenchRow& row = rows.emplace_back(std::move(all[i].row));
    row.ms = timings[i].min_ms;
    row.ms_median = timings[i].median_ms;
    row.images_per_second = 1e3 * static_cast<double>(options.batch) / timings[i].min_ms;
  }
  return rows;
}

}  // namespace fib::bench
