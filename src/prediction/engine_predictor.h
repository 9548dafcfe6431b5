// SPDX-License-Identifier: Apache-2.0
// A compiled model as a classifier; torch is not loaded.
#pragma once

#include "engine/engine.h"
#include "prediction/predictor.h"

namespace fib::prediction {

/// What is asked for instead of what a file says of its input; zero or empty is what is not.
struct InputOverrides {
  int64_t resize = 0, crop = 0;            ///< the shorter side before the crop, and the crop
  std::vector<float> mean = {}, std = {};  ///< one number for all channels, or one for each
};

class EnginePredictor final : public Predictor {
 public:
  /// Throws std::runtime_error where the file cannot be used, std::invalid_argument for a size it has no program for.
  explicit EnginePredictor(const std::string& file, const InputOverrides& overrides = {},
                           const engine::Limits& limits = {});

  Logits infer(const NpyArray& input, int64_t batch) override;
  /// The sizes of images, or frames, that the file has a program for.
  std::vector<int64_t> resolutions() const;
  /// For its input.
  const engine::Program& program() const { return engine_.program(info_.view.input_size, info_.view.input_size); }
  /// What each step of the program takes for one sample.
  std::vector<double> step_seconds(std::span<const float> sample);
  /// From now on a sample is one view of this size.
  void use_single_views(int64_t side) { info_.view.input_size = static_cast<int>(side), info_.view.views = 1; }

 private:
  std::vector<float> forward(std::span<const float> inputs) override;
  void run(const engine::Program& program, std::span<const float> inputs, std::span<float> logits, int64_t batch);

  engine::Engine engine_;
};

}  // namespace fib::prediction
