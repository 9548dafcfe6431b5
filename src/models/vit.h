// SPDX-License-Identifier: Apache-2.0
// The vision transformer, as timm defines it and with its parameter names; DeiT is the same architecture.
#pragma once

#include "models/layers.h"
#include "models/model.h"

namespace fib::models {

class Vit final : public Model {
 public:
  explicit Vit(const Dimensions& dims);

  at::Tensor tokens(const at::Tensor& images) override;
  at::Tensor features(const at::Tensor& images) override;
  at::Tensor classify(const at::Tensor& features) override { return head_->forward(features); }
  LayerView inspect(const at::Tensor& images, int64_t layer) override;
  std::vector<attention::MechanismPtr> attentions() const override;
  void set_resolution(int64_t height, int64_t width) override;
  const Dimensions& dimensions() const override { return dims_; }
  at::Tensor adapted(const std::string& name, const at::Tensor& stored) const override;

 private:
  void register_parts();
  void initialise();
  at::Tensor embed(const at::Tensor& images);
  /// The input of block `depth`.
  at::Tensor before_block(const at::Tensor& images, int64_t depth);
  at::Tensor normed(const at::Tensor& x) { return norm_ ? norm_->forward(x) : x; }

  Dimensions dims_;
  at::Tensor cls_token_, pos_embed_;
  std::shared_ptr<PatchEmbed> patch_embed_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<LayerNorm> norm_, fc_norm_;  // of all tokens, or of their mean: timm has the one or the other
  std::shared_ptr<Linear> head_;
};

}  // namespace fib::models
