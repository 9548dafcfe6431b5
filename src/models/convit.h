// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/cost.h"

namespace fib::models {

/// The content part of gated positional attention: always dense, and no part of attention_layers().
AttentionLayer local_layer(const Dimensions& dims);

}  // namespace fib::models
