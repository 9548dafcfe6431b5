// SPDX-License-Identifier: Apache-2.0
// Attention in ONNX's standard operators.
#pragma once

#include <optional>

#include "engine/onnx/builder.h"
#include "engine/onnx/export.h"

namespace fib::engine {

/// What the mechanism of a node is given.
struct OnnxAttentionInputs {
  Name q, k, v;                              ///< [n,H,Tq,d], [n,H,Tk,d], [n,H,Tk,e]
  std::optional<Name> bias;                  ///< [G, H or 1, Tq, Tk]
  Shape bias_shape = {};                     ///< of it
  std::span<const float> bias_numbers = {};  ///< empty where it is computed
};

/// Its output [n,H,Tq,e].
Name write_attention(OnnxBuilder& builder, const Attention& attention, const OnnxAttentionInputs& inputs,
                     AttentionForm form);

}  // namespace fib::engine
