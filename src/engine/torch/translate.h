// SPDX-License-Identifier: Apache-2.0
// Torch's operators in the words of a graph.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "engine/torch/draft.h"

namespace fib::engine {

/// An operator that was called and has returned.
struct TorchCall {
  std::string name;  ///< "aten::linear"
  std::vector<c10::IValue> inputs, outputs;
};

/// The tensors among values and their lists.
std::vector<at::Tensor> tensors_in(const std::vector<c10::IValue>& values);

/// Whether an operator is known by itself, and need not be looked into.
bool is_known(const std::string& name);

/// Adds what a known operator does to the draft, and binds its outputs. Throws std::runtime_error where it is called in
/// a way that a graph cannot express.
void translate(const TorchCall& call, Draft& draft);

}  // namespace fib::engine
