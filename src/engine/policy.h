// SPDX-License-Identifier: Apache-2.0
// Compiled policies: what a robot sees goes in, in the world's own numbers, with the noise from which its next actions
// are drawn; the actions come out. The file's metadata says which numbers these are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/fib_file.h"

namespace fib::engine {

struct PolicyInterface {
  /// [times, numbers], or [times, 3, side, side] of pixels from 0 to 255; the oldest time first.
  struct Observation {
    std::string name;
    std::vector<int64_t> shape;
    friend bool operator==(const Observation&, const Observation&) = default;
  };
  std::string task, sampler;
  std::vector<Observation> observations;  ///< one behind the other in the sample, then the noise
  int64_t rounds = 1, horizon = 1;        ///< of the noise [rounds, horizon, numbers]
  int64_t actions = 1, numbers = 1;       ///< what comes out, [actions, numbers]
  friend bool operator==(const PolicyInterface&, const PolicyInterface&) = default;

  int64_t observed_values() const;
  int64_t noise_values() const;
  int64_t action_values() const { return actions * numbers; }

  /// Adds it to what a file says of its model.
  void add_to(TensorMetadata& card) const;
};

/// None for a classifier. Throws std::runtime_error where the metadata does not fit the file's steps.
std::optional<PolicyInterface> policy_of(const FibContent& content);

/// Standard normal numbers for one decision, the next ones of an episode's stream.
CounterRng action_noise(uint32_t seed);
void draw_noise(CounterRng& stream, std::span<float> noise);

}  // namespace fib::engine
