// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/onnx_node.h"

namespace fib::engine {

OnnxName plan_merging_to_onnx(OnnxNode& node);
OnnxName plan_keeping_to_onnx(OnnxNode& node);
OnnxName merge_tokens_to_onnx(OnnxNode& node);
OnnxName take_tokens_to_onnx(OnnxNode& node);
OnnxName tell_tokens_to_onnx(OnnxNode& node);

}  // namespace fib::engine
