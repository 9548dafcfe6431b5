// SPDX-License-Identifier: Apache-2.0
// Golden numbers for torch tests: the fill of tensors and models, and the summary of a tensor that is compared.
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "golden_fill.h"

namespace fib::golden {

inline nlohmann::json read_json(const std::string& name) {
  std::ifstream file(std::string(FIB_TEST_DATA) + "/" + name);
  return nlohmann::json::parse(file);
}

/// stream(name) as a float64 tensor.
inline at::Tensor tensor(const std::string& name, at::IntArrayRef shape) {
  const at::Tensor t = at::empty(shape, at::kDouble);
  const uint64_t hash = fnv1a64(name);
  auto* values = t.data_ptr<double>();
  for (int64_t k = 0; k < t.numel(); ++k) values[k] = stream_element(hash, static_cast<uint64_t>(k));
  return t;
}

/// The value of a parameter by the rules of its name and shape.
inline at::Tensor parameter(const std::string& name, at::IntArrayRef shape) {
  return at::tensor(parameter_values(name, shape.vec()), at::kDouble).view(shape);
}

inline void fill(torch::nn::Module& module) {
  const at::NoGradGuard no_grad;
  for (auto& item : module.named_parameters()) item.value().copy_(parameter(item.key(), item.value().sizes()));
  for (auto& item : module.named_buffers()) {
    const bool statistics = item.key().ends_with("running_mean") || item.key().ends_with("running_var");
    if (statistics) item.value().copy_(parameter(item.key(), item.value().sizes()));
  }
}

inline at::Tensor images(at::IntArrayRef shape) { return tensor("input", shape) * 1.7320508075688772; }

/// Compares first elements, sum, norm and place of the largest with a golden summary.
inline void expect_summary(const at::Tensor& got, const nlohmann::json& want, double tolerance,
                           const std::string& what) {
  SCOPED_TRACE(what);
  const at::Tensor x = got.detach().to(at::kDouble).flatten().contiguous();
  ASSERT_EQ(x.numel(), want["n"].get<int64_t>());
  for (size_t i = 0; i < want["first8"].size(); ++i) {
    EXPECT_NEAR(x.data_ptr<double>()[i], want["first8"][i].get<double>(), tolerance) << "element " << i;
  }
  const double many = std::sqrt(static_cast<double>(x.numel()));
  EXPECT_NEAR(x.norm().item<double>(), want["l2"].get<double>(), tolerance * many);
  EXPECT_NEAR(x.sum().item<double>(), want["sum"].get<double>(), tolerance * many * 4);
  EXPECT_EQ(x.argmax().item<int64_t>(), want["argmax"].get<int64_t>());
}

}  // namespace fib::golden
