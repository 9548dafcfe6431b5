// SPDX-License-Identifier: Apache-2.0
// What attention alone costs in a training step.
#pragma once

#include "models/torch/model.h"

namespace fib::training {

/// Seconds of the mechanisms of all layers, forward and backward, for a batch of random queries, keys and values:
/// without the projections around them. The best of three.
double attention_seconds(models::Model& model, int64_t batch);

}  // namespace fib::training
