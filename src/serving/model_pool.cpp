// SPDX-License-Identifier: Apache-2.0
#include "serving/model_pool.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/measure.h"

namespace fib::serving {
namespace {

std::vector<std::unique_ptr<prediction::EnginePredictor>> open_engines(const ServedModelOptions& options) {
  std::vector<std::unique_ptr<prediction::EnginePredictor>> engines;
  for (int64_t i = 0; i < options.engines; ++i) {
    engines.push_back(std::make_unique<prediction::EnginePredictor>(options.file, options.input, options.limits));
    if (!options.class_names.empty()) engines.back()->set_class_names(options.class_names);
  }
  if (engines.front()->info().view.clip.frames > 0)
    throw std::invalid_argument(fmt::format("{} takes clips; fib serve is for models of images", options.file));
  return engines;
}

}  // namespace

int64_t Cores::take(int64_t most) {
  std::unique_lock lock(mutex_);
  ++waiting_;
  changed_.wait(lock, [&] { return free_ > 0; });
  --waiting_;
  const int64_t share = std::clamp<int64_t>(free_ / (waiting_ + 1), 1, most);
  free_ -= share;
  return share;
}

void Cores::give_back(int64_t count) {
  {
    const std::lock_guard lock(mutex_);
    free_ += count;
  }
  changed_.notify_all();
}

ServedModel::ServedModel(const ServedModelOptions& options, Cores& cores)
    : name_(options.name), cores_(cores), engines_(open_engines(options)), pipeline_(info().view) {
  for (const auto& engine : engines_) free_.push_back(engine.get());
}

prediction::EnginePredictor* ServedModel::free_engine(Clock::time_point latest) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, latest, [&] { return !free_.empty(); })) return nullptr;
  prediction::EnginePredictor* engine = free_.back();
  free_.pop_back();
  return engine;
}

void ServedModel::give_back(prediction::EnginePredictor* engine) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(engine);
  }
  changed_.notify_one();
}

std::optional<std::vector<float>> ServedModel::logits(std::span<const float> input, Clock::time_point latest,
                                                      double& seconds) {
  const auto back = [this](prediction::EnginePredictor* engine) { give_back(engine); };
  const std::unique_ptr<prediction::EnginePredictor, decltype(back)> engine(free_engine(latest), back);
  if (!engine) return std::nullopt;
  const Cores::Share cores(cores_, std::numeric_limits<int64_t>::max());
  omp_set_num_threads(static_cast<int>(cores.count()));
  const Stopwatch watch;
  std::vector<float> logits = engine->logits(input);
  seconds += watch.seconds();
  return logits;
}

}  // namespace fib::serving
