// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/torch.h>

#include <string>

#include "models/torch/model.h"

namespace fib::models {

inline Options with_attention(const std::string& spec) {
  Options options;
  options.attention = AttentionSpec::parse(spec);
  return options;
}

inline at::Tensor images(const Model& model, int64_t batch) {
  std::vector<int64_t> shape = model.dimensions().sample_shape();
  shape.insert(shape.begin(), batch);
  return torch::randn(shape);
}

}  // namespace fib::models
