// SPDX-License-Identifier: Apache-2.0
// MViTv2, with timm's parameter names: attention whose queries, keys and values are pooled by depthwise convolutions,
// whose scores know distances in rows and columns, and whose output is added to the queries.
#pragma once

#include "models/torch/conv_layers.h"
#include "models/torch/layers.h"
#include "models/torch/model.h"

namespace fib::models {

class Mvit final : public Model {
 public:
  explicit Mvit(const Dimensions& dims);

  at::Tensor tokens(const at::Tensor& images) override;
  at::Tensor features(const at::Tensor& images) override { return tokens(images).mean(1); }
  at::Tensor classify(const at::Tensor& features) override { return head_->forward(features); }
  std::vector<attention::MechanismPtr> attentions() const override;
  void set_resolution(int64_t height, int64_t width) override;
  at::Tensor adapted(const std::string& name, const at::Tensor& stored) const override;

 private:
  class PooledBlock;
  void initialise();

  std::shared_ptr<Conv> patch_embed_;
  std::vector<std::shared_ptr<PooledBlock>> blocks_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

}  // namespace fib::models
