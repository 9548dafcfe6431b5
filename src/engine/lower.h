// SPDX-License-Identifier: Apache-2.0
// From a recorded graph to fused steps: views cost nothing, weights are packed, bias, activation and residual join
// their product, MLPs go in blocks of rows, and all that is computed shares one arena.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "engine/fib_file.h"
#include "engine/graph.h"
#include "engine/program.h"

namespace fib::engine {

/// The tensors that a file will hold. The same name and content is kept once, so that several programs share weights.
class TensorStore {
 public:
  /// The name under which it is kept. Bytes are filled up with zeros to a cache line.
  std::string add(const std::string& name, TensorType type, std::vector<std::byte> bytes);
  std::string add(const std::string& name, std::span<const float> values);

  int64_t elements(const std::string& name) const;
  /// As long as the store lives.
  std::vector<TensorView> views() const;

 private:
  struct Kept {
    std::string name;
    TensorType type;
    std::vector<std::byte> bytes;
  };
  const Kept* find(const std::string& name) const;
  std::deque<Kept> kept_;
};

/// The program of a graph, for one sample. Throws std::invalid_argument naming what a step cannot do.
Program lower(const Graph& graph, Precision precision, TensorStore& tensors);

/// Gives every arena buffer its place: those that are in use at the same time do not overlap.
void plan_arena(Program& program);

}  // namespace fib::engine
