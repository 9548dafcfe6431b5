// SPDX-License-Identifier: Apache-2.0
// Calls of ATen's operators as nodes of a graph, by the rules that the operators of the engine bring.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "engine/torch/graph_builder.h"

namespace fib::engine {

/// An operator that was called, and perhaps has returned.
struct TorchCall {
  std::string name;  ///< "aten::linear"
  std::vector<c10::IValue> inputs, outputs;
};

/// The tensors among values and their lists.
std::vector<at::Tensor> tensors_in(const std::vector<c10::IValue>& values);

/// Whether there is a rule for it. One without may consist of others that have one.
bool has_rule(const std::string& name);

/// The sizes of the output of a call that ATen has no meta kernel for; empty where it has.
std::vector<int64_t> sizes_without_kernel(const TorchCall& call);

/// Adds what the call does to the graph, and binds its outputs. Throws std::runtime_error for arguments that the graph
/// cannot hold.
void translate(const TorchCall& call, GraphBuilder& builder);

}  // namespace fib::engine
