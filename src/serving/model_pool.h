// SPDX-License-Identifier: Apache-2.0
// Compiled models that classify for many at once: each as several engines on the same mapped weights, all of them on
// the same cores.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/pipeline.h"
#include "prediction/engine_predictor.h"

namespace fib::serving {

/// Threads to compute with, handed out so that one image gets all of them and several get one each: two engines of one
/// thread do more than two threads that wait for each other while a third decodes.
class Cores {
 public:
  explicit Cores(int64_t count) : free_(count) {}

  /// Some of them while it lives; waits until there is one.
  class Share {
   public:
    Share(Cores& cores, int64_t most) : cores_(cores), count_(cores.take(most)) {}
    ~Share() { cores_.give_back(count_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    int64_t count() const { return count_; }

   private:
    Cores& cores_;
    int64_t count_;
  };

 private:
  int64_t take(int64_t most);
  void give_back(int64_t count);

  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t free_, waiting_ = 0;
};

struct ServedModelOptions {
  std::string name = {}, file = {};
  int64_t engines = 1;  ///< that compute side by side; each has its own arena
  prediction::InputOverrides input = {};
  engine::Limits limits = {};
  std::vector<std::string> class_names = {};  ///< empty: those of the file
};

class ServedModel {
 public:
  /// Throws as EnginePredictor does, and std::invalid_argument for a model of clips.
  ServedModel(const ServedModelOptions& options, Cores& cores);

  const std::string& name() const { return name_; }
  const prediction::ModelInfo& info() const { return engines_.front()->info(); }
  const Pipeline& pipeline() const { return pipeline_; }

  using Clock = std::chrono::steady_clock;
  /// Logits of one prepared input, none where no engine was free in time. The time to compute them is added to
  /// `seconds`.
  std::optional<std::vector<float>> logits(std::span<const float> input, Clock::time_point latest, double& seconds);

 private:
  prediction::EnginePredictor* free_engine(Clock::time_point latest);
  void give_back(prediction::EnginePredictor* engine);

  std::string name_;
  Cores& cores_;
  std::vector<std::unique_ptr<prediction::EnginePredictor>> engines_;
  Pipeline pipeline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<prediction::EnginePredictor*> free_;
};

}  // namespace fib::serving
