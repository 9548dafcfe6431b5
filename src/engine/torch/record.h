// SPDX-License-Identifier: Apache-2.0
// A backbone's forward as a graph. Torch reports every operator that the module calls; those that depend on the image
// become nodes, those that depend on weights alone are computed. The module is the only description of the model.
#pragma once

#include <functional>
#include <vector>

#include "engine/graph.h"
#include "models/torch/model.h"

namespace fib::engine {

/// What a forward that is recorded says besides torch's operators.
class Recording {
 public:
  Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  virtual ~Recording() = default;

  using Body = std::function<at::Tensor(const at::Tensor& state, const std::vector<at::Tensor>& rows)>;
  /// state = body(state, row i of each table), beginning with `first`, for each i below `count`. Tables are
  /// [count,...], or [n,count,...] where they depend on the input. A forward may have one loop.
  virtual at::Tensor repeat(int64_t count, const at::Tensor& first, const std::vector<at::Tensor>& tables,
                            const Body& body) = 0;
  /// Op::denoise; `fresh` may be undefined.
  virtual at::Tensor denoise(const at::Tensor& x, const at::Tensor& predicted, const at::Tensor& coefficients,
                             const at::Tensor& fresh) = 0;
};
/// Of samples of these sizes, [B,...].
using RecordedForward = std::function<at::Tensor(const at::Tensor& input, Recording& recording)>;

/// A forward of a module's, in eval mode, on samples of these sizes. As below.
Graph record(torch::nn::Module& module, const std::vector<int64_t>& sample, const RecordedForward& forward);

/// No activation is computed or kept: memory is that of the weights and of what follows from them alone.
///
/// Simplified and valid; its constants share memory with the model's parameters. The model is in eval mode, on the CPU
/// and in float32, and is as before afterwards. Throws std::runtime_error with one line naming an operator that is not
/// supported, std::invalid_argument for a model that cannot be recorded as it is.
Graph record(models::Model& model);

}  // namespace fib::engine
