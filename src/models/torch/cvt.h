// SPDX-License-Identifier: Apache-2.0
// CvT, with its authors' parameter names: stages that each begin with a convolution, whose queries, keys and values
// come from depthwise convolutions; the last has a class token.
#pragma once

#include "models/torch/conv_layers.h"
#include "models/torch/layers.h"
#include "models/torch/model.h"

namespace fib::models {

class Cvt final : public Model {
 public:
  explicit Cvt(const Dimensions& dims);

  at::Tensor tokens(const at::Tensor& images) override { return norm_->forward(encoded(images)); }
  at::Tensor features(const at::Tensor& images) override { return norm_->forward(encoded(images).select(1, 0)); }
  at::Tensor classify(const at::Tensor& features) override { return head_->forward(features); }
  std::vector<attention::MechanismPtr> attentions() const override { return mechanisms_; }
  void set_resolution(int64_t height, int64_t width) override { take_dimensions(resized(dimensions(), height, width)); }

 private:
  class StageModule;
  at::Tensor encoded(const at::Tensor& images);

  std::vector<std::shared_ptr<StageModule>> stages_;
  std::vector<attention::MechanismPtr> mechanisms_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

}  // namespace fib::models
