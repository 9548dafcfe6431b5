// SPDX-License-Identifier: Apache-2.0
// ConViT, with timm's parameter names: blocks with gated positional attention among patches, then blocks of a vision
// transformer with a class token.
#pragma once

#include "models/torch/layers.h"
#include "models/torch/model.h"

namespace fib::models {

/// Weights of content, softmax(q·k), and of position, softmax of a linear map of (dx, dy, dx² + dy²), mixed by a gate
/// per head.
class GatedPositionalAttention final : public Mixer {
 public:
  GatedPositionalAttention(int64_t dim, const AttentionLayer& layer, const BlockRates& rates);
  at::Tensor forward(const at::Tensor& x) override;

  void set_grid(const attention::Grid& grid);
  /// Values pass unchanged, and the heads look at the neighbours that a square convolution would.
  void initialise();

 private:
  /// [1,H,N,N]
  at::Tensor position_weights() const;
  /// [B,N,H·e]; as both kinds of weights sum to one, so do their mixtures.
  at::Tensor mixed(const attention::Inputs& in) const;

  at::Tensor gate_;
  std::shared_ptr<Linear> qk_, v_, proj_, pos_proj_;
  attention::MechanismPtr content_;
  at::Tensor distances_;  // [N,N,3], made from the grid
  BlockRates rates_;
};

class Convit final : public Model {
 public:
  explicit Convit(const Dimensions& dims);

  at::Tensor tokens(const at::Tensor& images) override { return norm_->forward(encoded(images)); }
  at::Tensor features(const at::Tensor& images) override { return norm_->forward(encoded(images).select(1, 0)); }
  at::Tensor classify(const at::Tensor& features) override { return head_->forward(features); }
  std::vector<attention::MechanismPtr> attentions() const override { return mechanisms_; }
  void set_resolution(int64_t height, int64_t width) override;
  at::Tensor adapted(const std::string& name, const at::Tensor& stored) const override;

 private:
  void register_blocks();
  void initialise();
  at::Tensor encoded(const at::Tensor& images);

  at::Tensor cls_token_, pos_embed_;
  std::shared_ptr<PatchEmbed> patch_embed_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::vector<std::shared_ptr<GatedPositionalAttention>> local_;  // the mixers of the first blocks
  std::vector<attention::MechanismPtr> mechanisms_;               // of the others
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

}  // namespace fib::models
