// SPDX-License-Identifier: Apache-2.0
// Models whose weights leave no part of them without effect.
#pragma once

#include <string>
#include <vector>

#include "models/torch/model.h"

namespace fib::test {

inline models::ModelPtr some_model(const std::string& name, const std::string& attention,
                                   const std::string& tokens = "") {
  torch::manual_seed(7);
  models::Options options;
  options.tokens = models::TokenReduction::parse(tokens);
  options.attention = AttentionSpec::parse(attention);
  models::ModelPtr model = models::make(name, options);
  model->eval();
  const at::NoGradGuard no_grad;
  for (auto& item : model->named_parameters()) item.value().add_(at::randn_like(item.value()) * 0.1);
  for (auto& item : model->named_buffers()) {
    if (item.key().ends_with("running_mean")) item.value().normal_(0.0, 0.2);
    if (item.key().ends_with("running_var")) item.value().uniform_(0.5, 2.0);
  }
  return model;
}

inline at::Tensor noise_for(const models::Model& model, int64_t batch) {
  std::vector<int64_t> sizes = model.dimensions().sample_shape();
  sizes.insert(sizes.begin(), batch);
  return at::randn(sizes);
}

/// An attention and a reduction of tokens, in every way in which the two meet.
inline const std::vector<std::pair<std::string, std::string>>& reduced_attentions() {
  static const std::vector<std::pair<std::string, std::string>> list = {
      {"full", "tome:r=9"},
      {"full", "evit:keep=0.6,at=0,2"},
      {"topk:k=9", "tome:r=9"},
      {"fibottention", "tome:r=9"},
      {"fibottention", "tome:r=9,distance=original"},
      {"fibottention:wmin=2", "evit:keep=0.6,at=0,1"},
      {"fibottention-modified", "evit:keep=0.6,at=0,1,distance=original"},
      {"fibottention:grid=3", "tome:r=9,distance=original"},
      {"fibottention:grid=3,summaries=3x3", "evit:keep=0.6,at=0,1,distance=original"}};
  return list;
}

/// A small model of every kind.
inline const std::vector<std::string>& minis() {
  static const std::vector<std::string> names = {"mini_vit", "mini_convit", "mini_swin",       "mini_iformer",
                                                 "mini_cvt", "mini_mvitv2", "mini_timesformer"};
  return names;
}

}  // namespace fib::test
