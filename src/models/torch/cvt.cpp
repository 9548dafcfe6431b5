// SPDX-License-Identifier: Apache-2.0
// CvT, with its authors' parameter names: stages that each begin with a convolution, whose queries, keys and values
// come from depthwise convolutions; the last has a class token.
#include "models/torch/conv_layers.h"
#include "models/torch/layers.h"
#include "models/torch/model.h"

namespace fib::models {
namespace {

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

constexpr double kCvtEps = 1e-5;

/// Class tokens pass the convolutions by.
class ConvAttention final : public Mixer {
 public:
  ConvAttention(int64_t dim, const AttentionLayer& layer, const BlockRates& rates)
      : mechanism_(attention::make(layer.attention, layer.geometry, rates.attention_dropout)), dropout_(rates.dropout) {
    const attention::Geometry& g = mechanism_->geometry();
    q_.conv = make_conv("conv_proj_q", dim, 1);
    k_.conv = make_conv("conv_proj_k", dim, 2);
    v_.conv = make_conv("conv_proj_v", dim, 2);
    q_.linear = register_module("proj_q", std::make_shared<Linear>(dim, g.heads * g.head_dim));
    k_.linear = register_module("proj_k", std::make_shared<Linear>(dim, g.heads * g.head_dim));
    v_.linear = register_module("proj_v", std::make_shared<Linear>(dim, g.heads * g.value_dim));
    proj_ = register_module("proj", std::make_shared<Linear>(g.heads * g.value_dim, dim));
    register_module("mechanism", mechanism_);
  }

  at::Tensor forward(const at::Tensor& x) override {
    const attention::Geometry& g = mechanism_->geometry();
    const at::Tensor cls = x.narrow(1, 0, g.cls);
    const at::Tensor image = to_image(x.narrow(1, g.cls, g.query_grid.tokens()), g.query_grid);
    const auto heads = [&](const Path& path) {
      const at::Tensor tokens = at::cat({cls, to_tokens(path.conv->forward(image))}, 1);
      const at::Tensor mapped = path.linear->forward(tokens);
      return mapped.view({x.size(0), mapped.size(1), g.heads, -1}).transpose(1, 2);  // [B,H,T,d]
    };
    const at::Tensor mixed = mechanism_->forward({heads(q_), heads(k_), heads(v_), {}});
    return at::dropout(proj_->forward(mixed), dropout_, is_training());
  }

  const attention::MechanismPtr& mechanism() const { return mechanism_; }

 private:
  struct Path {
    std::shared_ptr<ConvNorm> conv;
    std::shared_ptr<Linear> linear;
  };

  std::shared_ptr<ConvNorm> make_conv(const char* name, int64_t dim, int64_t stride) {
    return register_module(name, std::make_shared<ConvNorm>(ConvConfig{dim, dim, 3, stride, true}, "conv"));
  }

  Path q_, k_, v_;
  std::shared_ptr<Linear> proj_;
  attention::MechanismPtr mechanism_;
  double dropout_;
};

class Cvt::StageModule : public torch::nn::Module {
 public:
  StageModule(const ConvConfig& embed, bool with_class_token) {
    if (with_class_token) cls_token_ = register_parameter("cls_token", at::empty({1, 1, embed.to}));
    conv_ = std::make_shared<Conv>(embed);
    norm_ = std::make_shared<LayerNorm>(embed.to, kCvtEps);
    register_at(*this, "patch_embed.proj", conv_);
    register_at(*this, "patch_embed.norm", norm_);
    list_ = register_module("blocks", std::make_shared<torch::nn::ModuleListImpl>());
  }

  attention::MechanismPtr add(const AttentionLayer& layer, const BlockRates& rates) {
    const int64_t dim = conv_->weight.size(0);
    const auto attn = std::make_shared<ConvAttention>(dim, layer, rates);
    blocks_.push_back(std::make_shared<Block>(MlpShape{dim, 4 * dim, Activation::quick_gelu}, attn, rates, kCvtEps));
    list_->push_back(blocks_.back());
    return attn->mechanism();
  }

  void initialize() {
    if (cls_token_.defined()) cls_token_.normal_(0.0, 0.02);
  }

  struct Result {
    at::Tensor tokens;  ///< [B,cls + N,C]
    attention::Grid grid;
  };

  Result forward(const at::Tensor& image) {
    const at::Tensor embedded = conv_->forward(image);
    at::Tensor x = norm_->forward(to_tokens(embedded));
    if (cls_token_.defined()) x = at::cat({cls_token_.expand({x.size(0), -1, -1}), x}, 1);
    for (const auto& block : blocks_) x = block->forward(x);
    return {x, {embedded.size(2), embedded.size(3)}};
  }

 private:
  at::Tensor cls_token_;
  std::shared_ptr<Conv> conv_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<torch::nn::ModuleListImpl> list_;
  std::vector<std::shared_ptr<Block>> blocks_;
};

Cvt::Cvt(const Dimensions& dims) : Model(dims) {
  const std::vector<Stage>& rows = dims.row.stages;
  const std::vector<AttentionLayer> layers = attention_layers(dims);
  int64_t from = dims.options.channels;
  for (size_t s = 0; s < rows.size(); ++s) {
    const ConvConfig first{.from = from, .to = rows[s].dim, .kernel = 7, .stride = 4, .bias = true, .padding = 2};
    const ConvConfig next{.from = from, .to = rows[s].dim, .kernel = 3, .stride = 2, .bias = true};
    stages_.push_back(std::make_shared<StageModule>(s == 0 ? first : next, s + 1 == rows.size()));
    register_module("stage" + std::to_string(s), stages_.back());
    for (int64_t i = 0; i < rows[s].depth; ++i) {
      BlockRates rates = rates_of(dims.options, i, rows[s].depth);
      if (s + 1 < rows.size()) rates.drop_path = 0;  // as its authors have it
      mechanisms_.push_back(stages_.back()->add(layers[mechanisms_.size()], rates));
    }
    from = rows[s].dim;
  }
  norm_ = register_module("norm", std::make_shared<LayerNorm>(from, kCvtEps));
  head_ = register_module("head", std::make_shared<Linear>(from, dims.row.classes));
  if (!dims.options.initialize) return;
  const at::NoGradGuard no_grad;
  initialize_convolutional(*this, KernelStart::uniform);
  for (const auto& stage : stages_) stage->initialize();
}

at::Tensor Cvt::encoded(const at::Tensor& images) {
  check_input(images);
  at::Tensor image = images;
  for (const auto& stage : stages_) {
    const StageModule::Result result = stage->forward(image);
    if (stage == stages_.back()) return result.tokens;
    image = to_image(result.tokens, result.grid);
  }
  return image;
}

}  // namespace

ModelPtr make_cvt(const Dimensions& dims) { return std::make_shared<Cvt>(dims); }

}  // namespace fib::models
