// SPDX-License-Identifier: Apache-2.0
// Small graphs, and the slow obvious way to carry any graph out: one node after the other, in float64.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/graph.h"

namespace fib::test {

/// A vision transformer of one block: images [3,16,16] in patches of 4, a class token, 2 heads, 10 classes.
engine::Graph transformer(const std::string& attention);

/// Convolutions of all kinds, pool, gate, roll, softmax, matmul and concatenation on images [3,12,12]; 7 classes.
engine::Graph convolutional();

/// The logits of one image.
std::vector<double> evaluate(const engine::Graph& graph, std::span<const float> image);

}  // namespace fib::test
