// SPDX-License-Identifier: Apache-2.0
// From a graph as it was recorded to the same function in fewer nodes.
#pragma once

#include "engine/graph.h"

namespace fib::engine {

/// Views of views become one, and those that change nothing vanish; factors and terms of the channels that follow a
/// convolution or linear map, such as batch norms leave, become part of its weights; what is not read is dropped.
/// Values are numbered anew.
Graph simplified(Graph graph);

}  // namespace fib::engine
