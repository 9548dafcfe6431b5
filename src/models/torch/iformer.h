// SPDX-License-Identifier: Apache-2.0
// iFormer, with its authors' parameter names: convolution blocks, and in the last two stages a position, an attention
// and an FFN block in turn. Attention has one head, and what it gives is modulated by a gate.
#pragma once

#include <functional>

#include "models/torch/conv_layers.h"
#include "models/torch/layers.h"
#include "models/torch/model.h"

namespace fib::models {

class Iformer final : public Model {
 public:
  explicit Iformer(const Dimensions& dims);

  at::Tensor tokens(const at::Tensor& images) override { return to_tokens(encoded(images)); }
  at::Tensor features(const at::Tensor& images) override { return norm_->forward(encoded(images).mean({2, 3})); }
  at::Tensor classify(const at::Tensor& features) override { return head_->forward(features); }
  std::vector<attention::MechanismPtr> attentions() const override { return mechanisms_; }
  void set_resolution(int64_t height, int64_t width) override { take_dimensions(resized(dimensions(), height, width)); }

 private:
  /// A residual branch on a picture [B,C,h,w].
  using Branch = std::function<at::Tensor(const at::Tensor& x)>;
  struct StageParts {
    std::vector<std::shared_ptr<ConvNorm>> shrink;  ///< the stem has three, with GELU between them
    std::vector<Branch> branches;
  };
  void register_stem();
  void register_shrinking(size_t stage);
  template <class Part>
  Branch registered(const std::string& path, std::shared_ptr<Part> part);
  /// `letter` of a layout at stages.`place`.
  Branch make_branch(char letter, const Stage& stage, const std::string& place);
  void register_blocks(size_t stage);
  at::Tensor encoded(const at::Tensor& images);

  std::vector<StageParts> stages_;
  std::vector<attention::MechanismPtr> mechanisms_;
  std::shared_ptr<BatchNorm> norm_;
  std::shared_ptr<Linear> head_;
};

}  // namespace fib::models
