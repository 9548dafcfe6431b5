// SPDX-License-Identifier: Apache-2.0
// iFormer, with its authors' parameter names: convolution blocks, and in the last two stages a position, an attention
// and an FFN block in turn. Attention has one head, and what it gives is modulated by a gate.
#include <functional>

#include "models/torch/conv_layers.h"
#include "models/torch/layers.h"
#include "models/torch/model.h"

namespace fib::models {
namespace {

class Iformer final : public Model {
 public:
  explicit Iformer(const Dimensions& dims);

  at::Tensor tokens(const at::Tensor& images) override { return to_tokens(encoded(images)); }
  at::Tensor features(const at::Tensor& images) override { return norm_->forward(encoded(images).mean({2, 3})); }
  at::Tensor classify(const at::Tensor& features) override { return head_->forward(features); }
  std::vector<attention::MechanismPtr> attentions() const override { return mechanisms_; }
  void set_resolution(int64_t height, int64_t width) override { take_dimensions(resized(dimensions(), height, width)); }

 private:
  /// A residual branch on an image [B,C,h,w].
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

/// Depthwise, then to hidden channels, GELU and back; or only the latter.
class ConvBranch final : public torch::nn::Module {
 public:
  struct Shape {
    int64_t dim = 0;
    int64_t hidden = 0;
    int64_t kernel = 0;  ///< of the depthwise convolution; 0: none
  };

  explicit ConvBranch(const Shape& shape) {
    int place = 0;
    if (shape.kernel > 0) {
      spread_ = std::make_shared<ConvNorm>(ConvConfig{shape.dim, shape.dim, shape.kernel, 1, true});
      register_module(std::to_string(place++), spread_);
    }
    up_ = register_module(std::to_string(place), std::make_shared<ConvNorm>(ConvConfig{shape.dim, shape.hidden}));
    // The place between is the activation's.
    down_ = register_module(std::to_string(place + 2), std::make_shared<ConvNorm>(ConvConfig{shape.hidden, shape.dim}));
  }

  at::Tensor forward(const at::Tensor& x) {
    return down_->forward(at::gelu(up_->forward(spread_ ? spread_->forward(x) : x)));
  }

 private:
  std::shared_ptr<ConvNorm> spread_, up_, down_;
};

/// Single-head modulation attention: the values and the gate that multiplies what they give are sigmoids.
class ModulationBranch final : public torch::nn::Module {
 public:
  ModulationBranch(int64_t dim, const AttentionLayer& layer, const BlockRates& rates)
      : mechanism_(attention::make(layer.attention, layer.geometry, rates.attention_dropout)) {
    const int64_t qk = mechanism_->geometry().head_dim;
    q_ = register_module("q", std::make_shared<ConvNorm>(ConvConfig{dim, qk}));
    k_ = register_module("k", std::make_shared<ConvNorm>(ConvConfig{dim, qk}));
    proj_ = register_module("proj", std::make_shared<ConvNorm>(ConvConfig{dim, dim}));
    v_gate_ = register_module("v_gate", std::make_shared<ConvNorm>(ConvConfig{dim, 2 * dim}));
    register_module("mechanism", mechanism_);
  }

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor tokens = to_tokens(x).contiguous();  // [B,N,C]
    const std::vector<at::Tensor> parts = at::sigmoid(v_gate_->forward_tokens(tokens)).chunk(2, 2);
    const at::Tensor mixed = mechanism_->forward(
        {q_->forward_tokens(tokens).unsqueeze(1), k_->forward_tokens(tokens).unsqueeze(1), parts[0].unsqueeze(1), {}});
    return to_image(proj_->forward_tokens(mixed * parts[1]), {x.size(2), x.size(3)});
  }

  const attention::MechanismPtr& mechanism() const { return mechanism_; }

 private:
  std::shared_ptr<ConvNorm> q_, k_, proj_, v_gate_;
  attention::MechanismPtr mechanism_;
};

Iformer::Iformer(const Dimensions& dims) : Model(dims), stages_(dims.row.stages.size()) {
  register_stem();
  for (size_t s = 1; s < stages_.size(); ++s) register_shrinking(s);
  for (size_t s = 0; s < stages_.size(); ++s) register_blocks(s);
  const int64_t dim = dims.row.stages.back().dim;
  norm_ = std::make_shared<BatchNorm>(dim);
  head_ = std::make_shared<Linear>(dim, dims.row.classes);
  register_at(*this, "classifier.classifier.bn", norm_);
  register_at(*this, "classifier.classifier.l", head_);
  if (dims.options.initialize) initialize_convolutional(*this, KernelStart::normal);
}

/// Two convolutions that each halve the image's sides, the second four times as wide, and one that narrows again.
void Iformer::register_stem() {
  const int64_t dim = dimensions().row.dim, half = dim / 2;
  std::vector<std::shared_ptr<ConvNorm>>& parts = stages_[0].shrink;
  parts = {std::make_shared<ConvNorm>(ConvConfig{dimensions().options.channels, half, 5, 2}),
           std::make_shared<ConvNorm>(ConvConfig{half, 4 * half, 5, 2}),
           std::make_shared<ConvNorm>(ConvConfig{4 * half, dim})};
  register_at(*this, "downsample_layers.0.0", parts[0]);
  register_at(*this, "downsample_layers.0.2.conv_exp_bn1", parts[1]);
  register_at(*this, "downsample_layers.0.2.conv_pwl_bn2", parts[2]);
}

void Iformer::register_shrinking(size_t stage) {
  const std::vector<Stage>& rows = dimensions().row.stages;
  const auto part = std::make_shared<ConvNorm>(ConvConfig{rows[stage - 1].dim, rows[stage].dim, 3, 2});
  register_at(*this, "downsample_layers." + std::to_string(stage) + ".0", part);
  stages_[stage].shrink = {part};
}

template <class Part>
Iformer::Branch Iformer::registered(const std::string& path, std::shared_ptr<Part> part) {
  register_at(*this, path, part);
  return [part](const at::Tensor& x) { return part->forward(x); };
}

Iformer::Branch Iformer::make_branch(char letter, const Stage& stage, const std::string& place) {
  const int64_t dim = stage.dim, conv_hidden = dimensions().row.conv_ratio * dim;
  const std::string block = "stages." + place + ".block.", mixer = block + "token_channel_mixer.m";
  if (letter == 'c') return registered(mixer, std::make_shared<ConvBranch>(ConvBranch::Shape{dim, conv_hidden, 7}));
  // A depthwise convolution, whose borders tell tokens where they are.
  if (letter == 'p') return registered(block + "cpe.m", std::make_shared<ConvNorm>(ConvConfig{dim, dim, 3, 1, true}));
  if (letter == 'f') {
    const ConvBranch::Shape shape{dim, dimensions().row.ffn_ratio * dim, 0};
    return registered(block + "channel_mixer.m", std::make_shared<ConvBranch>(shape));
  }
  const AttentionLayer layer = attention_layers(dimensions())[mechanisms_.size()];
  const auto branch = std::make_shared<ModulationBranch>(dim, layer, rates_of(dimensions().options, 0, 1));
  mechanisms_.push_back(branch->mechanism());
  return registered(mixer, branch);
}

void Iformer::register_blocks(size_t stage) {
  const Stage& row = dimensions().row.stages[stage];
  for (size_t i = 0; i < row.layout.size(); ++i) {
    const std::string place = std::to_string(stage) + "." + std::to_string(i);
    stages_[stage].branches.push_back(make_branch(row.layout[i], row, place));
  }
}

at::Tensor Iformer::encoded(const at::Tensor& images) {
  check_input(images);
  at::Tensor x = images;
  int64_t block = 0;
  for (const StageParts& stage : stages_) {
    for (const auto& part : stage.shrink) {
      x = part->forward(x);
      if (part != stage.shrink.back()) x = at::gelu(x);
    }
    for (const auto& branch : stage.branches) {
      const double rate = rates_of(dimensions().options, block++, dimensions().row.depth).drop_path;
      x = add_branch(x, drop_path(branch(x), rate, is_training()));
    }
  }
  return x;
}

}  // namespace

ModelPtr make_iformer(const Dimensions& dims) { return std::make_shared<Iformer>(dims); }

}  // namespace fib::models
