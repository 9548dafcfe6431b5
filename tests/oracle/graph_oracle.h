// SPDX-License-Identifier: Apache-2.0
// The slow, obvious execution of a graph: node by node, in float64, one scalar at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/graph.h"

namespace fib::test {

struct Array {
  std::vector<int64_t> sizes;
  std::vector<double> data;
};

/// The graph's output for images [B,C,h,w].
Array evaluate(const engine::Graph& graph, const Array& images);

}  // namespace fib::test
