// SPDX-License-Identifier: Apache-2.0
// Runs a compiled model. All memory is taken when the file is loaded; results are bitwise equal for any number of
// threads and any batch.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/fib_file.h"
#include "engine/limits.h"

namespace fib::engine {

/// One call at a time; for calls from several threads load the file once for each.
class Engine {
 public:
  /// Throws std::runtime_error with one line where the file cannot be read or run within the limits.
  explicit Engine(const std::filesystem::path& file, const Limits& limits = {});

  const FibContent& content() const { return content_; }
  /// The program for images, or frames, of this size; throws std::invalid_argument with the sizes there are.
  const Program& program(int64_t height, int64_t width) const;
  /// Images [batch,C,h,w], or clips [batch,C,T,h,w], to logits [batch,classes]. Throws std::invalid_argument for a
  /// batch above the file's limit. What each step takes is added to `step_seconds`, where that is not empty.
  void run(const Program& program, std::span<const float> samples, std::span<float> logits,
           std::span<double> step_seconds = {});

 private:
  struct Bound {
    std::vector<BoundStep> steps;
    Memory memory;
    size_t input = 0, output = 0;  ///< buffers
  };
  Bound bind(const Program& program);
  static void run_steps(const Bound& bound, std::span<double> seconds);

  SafetensorsFile file_;
  FibContent content_;
  std::unique_ptr<std::byte, void (*)(void*)> arena_;  ///< shared by the programs, which run one at a time
  std::vector<Bound> bound_;
};

}  // namespace fib::engine
