// SPDX-License-Identifier: Apache-2.0
// The Swin transformer, with timm's parameter names: attention inside windows of w × w tokens, shifted by half a window
// in every second block.
//
// Letters besides those of layers.h: H, W rows and columns of tokens, w of a window, G windows of a picture.
#pragma once

#include "models/torch/layers.h"
#include "models/torch/model.h"

namespace fib::models {

/// Attention inside windows. Scores have a learned bias for each distance; in shifted windows, pairs that are no
/// neighbours in the picture have -100 besides. Both are added before a mechanism chooses pairs.
class WindowAttention final : public SelfAttention {
 public:
  WindowAttention(int64_t dim, const AttentionLayer& layer, const BlockRates& rates);
  at::Tensor forward(const at::Tensor& x) override;

  /// Tokens of the whole picture, and by how many of them windows are shifted.
  void set_grid(const attention::Grid& grid, int64_t shift);
  /// [G,T,T] of 0 and -100; undefined where windows are not shifted.
  const at::Tensor& mask() const { return mask_; }

 private:
  at::Tensor bias() const;

  at::Tensor table_, index_, mask_;
  attention::Grid grid_;
  int64_t window_, shift_ = 0;
};

class Swin final : public Model {
 public:
  explicit Swin(const Dimensions& dims);

  at::Tensor tokens(const at::Tensor& images) override;
  at::Tensor features(const at::Tensor& images) override { return tokens(images).mean(1); }
  at::Tensor classify(const at::Tensor& features) override { return head_->forward(features); }
  std::vector<attention::MechanismPtr> attentions() const override;
  void set_resolution(int64_t height, int64_t width) override;

 private:
  /// Four neighbours side by side become one token of twice the width.
  class PatchMerging;
  class StageModule;

  void initialise();
  void place_windows();

  std::shared_ptr<PatchEmbed> patch_embed_;
  std::vector<std::shared_ptr<StageModule>> stages_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

}  // namespace fib::models
