// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/rollout.h"

#include <sstream>
#include <stdexcept>

namespace fib::analysis {
namespace {

void check_weights(const at::Tensor& weights) {
  if (weights.dim() != 4 || weights.size(2) != weights.size(3)) {
    std::ostringstream message;
    message << "rollout needs attention weights [B,H,T,T], got " << weights.sizes();
    throw std::invalid_argument(message.str());
  }
  if (weights.min().item<double>() < 0)
    throw std::invalid_argument("rollout needs attention weights that are shares; these have a negative one");
}

}  // namespace

at::Tensor rollout(const std::vector<at::Tensor>& layers) {
  if (layers.empty()) throw std::invalid_argument("rollout of no layer at all");
  at::Tensor result;
  for (const at::Tensor& weights : layers) {
    check_weights(weights);
    const at::Tensor identity = at::eye(weights.size(2), weights.options());
    const at::Tensor layer = 0.5 * weights.mean(1) + 0.5 * identity;  // [B,T,T]
    result = result.defined() ? at::matmul(layer, result) : layer;
  }
  return result;
}

}  // namespace fib::analysis
