// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/onnx_node.h"

namespace fib::engine {

/// Attention in ONNX's standard operators. Throws std::invalid_argument for gathers that cannot be.
OnnxName attention_to_onnx(OnnxNode& node);

}  // namespace fib::engine
