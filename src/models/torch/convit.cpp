// SPDX-License-Identifier: Apache-2.0
// ConViT, with timm's parameter names: blocks with gated positional attention among patches, then blocks of a vision
// transformer with a class token.
#include <cmath>

#include "models/kinds.h"
#include "models/torch/layers.h"
#include "models/torch/model.h"

namespace fib::models {
namespace {

/// Weights of content, softmax(q·k), and of position, softmax of a linear map of (dx, dy, dx² + dy²), mixed by a gate
/// per head.
class GatedPositionalAttention final : public Mixer {
 public:
  GatedPositionalAttention(int64_t dim, const AttentionLayer& layer, const BlockRates& rates);
  at::Tensor forward(const at::Tensor& x) override;

  void set_grid(const attention::Grid& grid);
  /// Values pass unchanged, and the heads look at the neighbours that a square convolution would.
  void initialize();

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
  void initialize();
  at::Tensor encoded(const at::Tensor& images);

  at::Tensor cls_token_, pos_embed_;
  std::shared_ptr<PatchEmbed> patch_embed_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::vector<std::shared_ptr<GatedPositionalAttention>> local_;  // the mixers of the first blocks
  std::vector<attention::MechanismPtr> mechanisms_;               // of the others
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

/// (dx, dy, dx² + dy²) from token i to token j, [N,N,3].
at::Tensor distances_of(const attention::Grid& grid) {
  const at::Tensor place = at::arange(grid.tokens(), at::kLong);
  const at::Tensor row = place.div(grid.width, "floor"), column = place.remainder(grid.width);
  const at::Tensor dx = column.unsqueeze(0) - column.unsqueeze(1), dy = row.unsqueeze(0) - row.unsqueeze(1);
  return at::stack({dx, dy, dx * dx + dy * dy}, -1).to(at::kFloat);
}

at::Tensor to_heads(const at::Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);  // [B,H,N,d]
}

GatedPositionalAttention::GatedPositionalAttention(int64_t dim, const AttentionLayer& layer, const BlockRates& rates)
    : content_(attention::make(layer.attention, layer.geometry, 0.0)), rates_(rates) {
  const int64_t heads = layer.geometry.heads;
  gate_ = register_parameter("gating_param", at::empty({heads}));
  qk_ = register_module("qk", std::make_shared<Linear>(dim, 2 * dim, false));
  v_ = register_module("v", std::make_shared<Linear>(dim, dim, false));
  proj_ = register_module("proj", std::make_shared<Linear>(dim, dim));
  pos_proj_ = register_module("pos_proj", std::make_shared<Linear>(3, heads));
  register_module("content", content_);
  set_grid(layer.geometry.query_grid);
}

void GatedPositionalAttention::set_grid(const attention::Grid& grid) {
  content_->resize(grid, grid);
  distances_ = distances_of(grid);
}

void GatedPositionalAttention::initialize() {
  const at::NoGradGuard no_grad;
  v_->weight.copy_(at::eye(v_->weight.size(0)));
  gate_.fill_(1.0);
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(gate_.size(0))));
  const double center = static_cast<double>(side - 1) / 2;
  for (int64_t head = 0; head < side * side; ++head) {
    const int64_t row = head % side, column = head / side;
    const double down = static_cast<double>(row) - center, right = static_cast<double>(column) - center;
    pos_proj_->weight[head].copy_(at::tensor({2 * right, 2 * down, -1.0}));
  }
}

at::Tensor GatedPositionalAttention::position_weights() const {
  const at::Tensor scores = pos_proj_->forward(distances_.to(gate_.options()));  // [N,N,H]
  return at::softmax(scores.permute({2, 0, 1}), -1).unsqueeze(0);
}

at::Tensor GatedPositionalAttention::mixed(const attention::Inputs& in) const {
  const int64_t B = in.q.size(0), N = in.q.size(2);
  const at::Tensor gate = at::sigmoid(gate_), position = position_weights();
  if (is_training() && rates_.attention_dropout > 0.0) {
    const at::Tensor g = gate.view({1, -1, 1, 1});
    const at::Tensor weights = (1 - g) * content_->probabilities(in) + g * position;
    return attention::merge_heads(at::matmul(at::dropout(weights, rates_.attention_dropout, true), in.v));
  }
  const at::Tensor g = gate.view({1, 1, -1, 1});
  const at::Tensor by_content = content_->forward(in).view({B, N, gate.size(0), -1});
  // The weights are those of every sample: one product for all of them.
  const at::Tensor values = in.v.permute({1, 2, 0, 3}).flatten(2);  // [H,N,B·e]
  const at::Tensor by_position = at::bmm(position[0], values).view({gate.size(0), N, B, -1}).permute({2, 1, 0, 3});
  return ((1 - g) * by_content + g * by_position).flatten(2);
}

at::Tensor GatedPositionalAttention::forward(const at::Tensor& x) {
  const int64_t heads = gate_.size(0), dim = x.size(2);
  const at::Tensor qk = qk_->forward(x);
  const attention::Inputs in{to_heads(qk.narrow(2, 0, dim), heads),
                             to_heads(qk.narrow(2, dim, dim), heads),
                             to_heads(v_->forward(x), heads),
                             {}};
  return at::dropout(proj_->forward(mixed(in)), rates_.dropout, is_training());
}

Convit::Convit(const Dimensions& dims) : Model(dims) {
  const ModelRow& row = dims.row;
  cls_token_ = register_parameter("cls_token", at::empty({1, 1, row.dim}));
  pos_embed_ = register_parameter("pos_embed", at::empty({1, dims.grid().tokens(), row.dim}));
  patch_embed_ =
      register_module("patch_embed", std::make_shared<PatchEmbed>(dims.options.channels, row.dim, row.patch));
  register_blocks();
  norm_ = register_module("norm", std::make_shared<LayerNorm>(row.dim));
  head_ = register_module("head", std::make_shared<Linear>(row.dim, row.classes));
  if (dims.options.initialize) initialize();
}

void Convit::register_blocks() {
  const Dimensions& d = dimensions();
  const auto list = register_module("blocks", std::make_shared<torch::nn::ModuleListImpl>());
  const auto add = [&](const std::shared_ptr<Mixer>& mixer, const BlockRates& rates) {
    blocks_.push_back(std::make_shared<Block>(MlpShape{d.row.dim, d.hidden()}, mixer, rates));
    list->push_back(blocks_.back());
  };
  for (int64_t block = 0; block < d.row.local_blocks; ++block) {
    const BlockRates rates = rates_of(d.options, block, d.row.depth);
    local_.push_back(std::make_shared<GatedPositionalAttention>(d.row.dim, convit_local_layer(d), rates));
    add(local_.back(), rates);
  }
  for (const AttentionLayer& layer : attention_layers(d)) {
    const BlockRates rates = rates_of(d.options, static_cast<int64_t>(blocks_.size()), d.row.depth);
    const auto attn = std::make_shared<SelfAttention>(SelfAttentionShape{d.row.dim, false}, layer, rates);
    mechanisms_.push_back(attn->mechanism());
    add(attn, rates);
  }
}

void Convit::initialize() {
  const at::NoGradGuard no_grad;
  initialize_like_timm(*this);
  cls_token_.normal_(0.0, 0.02);
  pos_embed_.normal_(0.0, 0.02);
  for (const auto& attention : local_) attention->initialize();
}

at::Tensor Convit::encoded(const at::Tensor& images) {
  check_input(images);
  at::Tensor x = add_branch(patch_embed_->forward(images), pos_embed_);
  x = at::dropout(x, dimensions().options.dropout, is_training());
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (i == local_.size()) x = at::cat({cls_token_.expand({x.size(0), -1, -1}), x}, 1);
    x = blocks_[i]->forward(x);
  }
  return x;
}

void Convit::set_resolution(int64_t height, int64_t width) {
  const attention::Grid before = dimensions().grid();
  take_dimensions(resized(dimensions(), height, width));
  for (const auto& attention : local_) attention->set_grid(dimensions().grid());
  const at::NoGradGuard no_grad;
  pos_embed_.set_data(resize_positions(pos_embed_, 0, before, dimensions().grid()));
  pos_embed_.mutable_grad() = at::Tensor();
}

at::Tensor Convit::adapted(const std::string& name, const at::Tensor& stored) const {
  if (name != "pos_embed" || stored.dim() != 3 || stored.size(2) != dimensions().row.dim) return stored;
  const attention::Grid grid = dimensions().grid();
  return resize_positions(stored, 0, stored_grid(stored, 0, grid), grid);
}

}  // namespace

ModelPtr make_convit(const Dimensions& dims) { return std::make_shared<Convit>(dims); }

}  // namespace fib::models
