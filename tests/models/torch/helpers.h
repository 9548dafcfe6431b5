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
  const Dimensions& d = model.dimensions();
  return torch::randn({batch, d.options.channels, d.height, d.width});
}

}  // namespace fib::models
