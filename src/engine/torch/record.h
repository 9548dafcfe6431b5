// SPDX-License-Identifier: Apache-2.0
// A backbone's forward as a graph. Torch reports every operator that the module calls; those that depend on the image
// become nodes, those that depend on weights alone are computed. The module is the only description of the model.
#pragma once

#include "engine/graph.h"
#include "models/torch/model.h"

namespace fib::engine {

/// No activation is computed or kept: memory is that of the weights and of what follows from them alone.
///
/// Simplified and valid; its constants share memory with the model's parameters. The model is in eval mode, on the CPU
/// and in float32, and is as before afterwards. Throws std::runtime_error with one line naming an operator that is not
/// supported, std::invalid_argument for a model that cannot be recorded as it is.
Graph record(models::Model& model);

}  // namespace fib::engine
