// SPDX-License-Identifier: Apache-2.0
// The vision transformer, as timm defines it and with its parameter names; DeiT is the same architecture.
#pragma once

#include "models/torch/layers.h"
#include "models/torch/model.h"
#include "models/torch/token_reducer.h"

namespace fib::models {

/// Factors of channels in one block, for those who look for channels that are not needed.
struct ChannelMasks {
  at::Tensor attention;  ///< [d], of q, k and v in every head
  at::Tensor hidden;     ///< [hidden], before the MLP's activation
};

class Vit final : public Model {
 public:
  explicit Vit(const Dimensions& dims);

  at::Tensor tokens(const at::Tensor& images) override;
  at::Tensor features(const at::Tensor& images) override;
  at::Tensor classify(const at::Tensor& features) override { return head_->forward(features); }
  std::vector<attention::MechanismPtr> attentions() const override;
  void set_resolution(int64_t height, int64_t width) override;
  at::Tensor adapted(const std::string& name, const at::Tensor& stored) const override;

  /// One for each block. They are no part of the state dict.
  void set_masks(const std::vector<ChannelMasks>& masks);

 private:
  void register_parts();
  void initialize();
  at::Tensor embed(const at::Tensor& images);
  /// After all blocks, before the norm.
  TokenReducer::Tokens encoded(const at::Tensor& images);
  TokenReducer::Tokens reduced_by_block(size_t i, const TokenReducer::Tokens& tokens);
  at::Tensor mean_of_patches(const TokenReducer::Tokens& tokens) const;
  at::Tensor normed(const at::Tensor& x) { return norm_ ? norm_->forward(x) : x; }

  at::Tensor cls_token_, pos_embed_;
  std::shared_ptr<PatchEmbed> patch_embed_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::vector<std::shared_ptr<SelfAttention>> attentions_;
  std::shared_ptr<LayerNorm> norm_, fc_norm_;  // of all tokens, or of their mean: timm has the one or the other
  std::shared_ptr<Linear> head_;
};

}  // namespace fib::models
