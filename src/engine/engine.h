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

  // ---- Decoders, which take tokens and remember them

  bool takes_tokens() const { return content_.programs.front().tokens() > 0; }
  /// The tokens that come next, one or more, to the logits [classes] of the last of them. A step reads the keys that
  /// the heads look back at, however many tokens came before. Throws std::invalid_argument, and remembers none of them,
  /// for a model that takes no tokens, a token that is no symbol and for more tokens than there are learned positions.
  void step(std::span<const int32_t> tokens, std::span<float> logits);
  /// Forgets all tokens.
  void restart();
  /// Tokens since the last restart.
  int64_t position() const { return position_; }
  /// Where learned positions end.
  int64_t most_positions() const { return most_positions_; }

 private:
  struct Bound {
    std::vector<BoundStep> steps;
    Memory memory;
    size_t input = 0, output = 0;  ///< buffers
  };
  Bound bind(const Program& program);
  /// One sample, or call; the time of each step is added to `seconds`, where that is not empty.
  void run_steps(Bound& bound, const float* input, float* output, std::span<double> seconds);
  void check_step(std::span<const int32_t> tokens, std::span<const float> logits) const;
  /// The program that takes most tokens of these.
  size_t program_of(int64_t tokens) const;

  SafetensorsFile file_;
  FibContent content_;
  std::unique_ptr<std::byte, void (*)(void*)> arena_, state_;  ///< shared by the programs, which run one at a time
  int64_t position_ = 0, most_positions_ = 0;
  std::vector<Bound> bound_;
};

}  // namespace fib::engine
