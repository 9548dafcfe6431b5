// SPDX-License-Identifier: Apache-2.0
#include "models/torch/vit.h"

namespace fib::models {
namespace {

constexpr int64_t kClassTokens = 1;

}  // namespace

Vit::Vit(const Dimensions& dims) : Model(dims) {
  register_parts();
  if (dims.options.initialize) initialize();
}

/// In timm's order, which is the order of the state dict.
void Vit::register_parts() {
  const Dimensions& d = dimensions();
  const ModelRow& row = d.row;
  cls_token_ = register_parameter("cls_token", at::empty({1, kClassTokens, row.dim}));
  pos_embed_ = register_parameter("pos_embed", at::empty({1, kClassTokens + d.grid().tokens(), row.dim}));
  patch_embed_ = register_module("patch_embed", std::make_shared<PatchEmbed>(d.options.channels, row.dim, row.patch));
  const auto blocks = register_module("blocks", std::make_shared<torch::nn::ModuleListImpl>());
  for (const AttentionLayer& layer : attention_layers(d)) {
    const BlockRates rates = rates_of(d.options, static_cast<int64_t>(blocks_.size()), row.depth);
    const auto attn = std::make_shared<SelfAttention>(SelfAttentionShape{row.dim}, layer, rates);
    const int64_t hidden = d.width_of(*layer.geometry.layer).hidden;
    attentions_.push_back(attn);
    blocks_.push_back(std::make_shared<Block>(MlpShape{row.dim, hidden}, attn, rates));
    blocks->push_back(blocks_.back());
  }
  const bool mean = d.options.pool == Pool::mean;
  auto& norm = mean ? fc_norm_ : norm_;
  norm = register_module(mean ? "fc_norm" : "norm", std::make_shared<LayerNorm>(row.dim));
  head_ = register_module("head", std::make_shared<Linear>(row.dim, row.classes));
}

void Vit::initialize() {
  const at::NoGradGuard no_grad;
  initialize_like_timm(*this);
  cls_token_.normal_(0.0, 1e-6);
  pos_embed_.normal_(0.0, 0.02);
}

at::Tensor Vit::embed(const at::Tensor& images) {
  check_input(images);
  const at::Tensor cls = cls_token_.expand({images.size(0), -1, -1});
  const at::Tensor x = at::cat({cls, patch_embed_->forward(images)}, 1);  // [B,T,D]
  return at::dropout(add_branch(x, pos_embed_), dimensions().options.dropout, is_training());
}

/// The block's forward with fewer tokens for its MLP.
TokenReducer::Tokens Vit::reduced_by_block(size_t i, const TokenReducer::Tokens& tokens) {
  Block& block = *blocks_[i];
  SelfAttention& attention = *attentions_[i];
  attention::Mechanism& mechanism = *attention.mechanism();
  const TokenReducer reducer(dimensions(), static_cast<int64_t>(i));
  const at::Tensor qkv = attention.packed(block.mixer_input(tokens.x));  // [B,T,3,H,d]
  const at::Tensor branch = attention.projected(reducer.attend(mechanism, qkv, tokens.owner));
  const at::Tensor y = block.with_branch(tokens.x, branch);
  const auto [left, owner] = reducer.reduced({y, tokens.owner}, qkv, mechanism.geometry().score_scale());
  return {block.with_branch(left, block.mlp_branch(left)), owner};
}

TokenReducer::Tokens Vit::encoded(const at::Tensor& images) {
  TokenReducer::Tokens tokens{embed(images), {}};
  for (size_t i = 0; i < blocks_.size(); ++i)
    tokens = dimensions().options.tokens ? reduced_by_block(i, tokens)
                                         : TokenReducer::Tokens{blocks_[i]->forward(tokens.x), {}};
  return tokens;
}

at::Tensor Vit::tokens(const at::Tensor& images) { return normed(encoded(images).x); }

/// Merged patches count as many.
at::Tensor Vit::mean_of_patches(const TokenReducer::Tokens& tokens) const {
  const int64_t left = tokens.x.size(1) - kClassTokens;
  at::Tensor patches = tokens.x.narrow(1, kClassTokens, left);  // [B,N,D]
  if (!tokens.owner.defined()) return patches.mean(1);
  const at::Tensor weights = TokenReducer(dimensions(), dimensions().row.depth - 1).weights(tokens.owner);
  if (!weights.defined()) return patches.mean(1);
  const double share = static_cast<double>(left) / static_cast<double>(dimensions().grid().tokens());
  return (patches * weights.narrow(1, kClassTokens, left).unsqueeze(2)).mean(1) * share;
}

/// A norm acts on each token by itself, so only the token that is looked at needs it.
at::Tensor Vit::features(const at::Tensor& images) {
  const TokenReducer::Tokens tokens = encoded(images);
  if (dimensions().options.pool == Pool::token) return norm_->forward(tokens.x.select(1, 0));
  return fc_norm_->forward(mean_of_patches(tokens));
}

std::vector<attention::MechanismPtr> Vit::attentions() const {
  std::vector<attention::MechanismPtr> list;
  for (const auto& attention : attentions_) list.push_back(attention->mechanism());
  return list;
}

void Vit::set_masks(const std::vector<ChannelMasks>& masks) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    attentions_[i]->set_mask(masks.at(i).attention);
    blocks_[i]->mlp().set_mask(masks.at(i).hidden);
  }
}

void Vit::set_resolution(int64_t height, int64_t width) {
  const attention::Grid before = dimensions().grid();
  take_dimensions(resized(dimensions(), height, width));
  const at::NoGradGuard no_grad;
  pos_embed_.set_data(resize_positions(pos_embed_, kClassTokens, before, dimensions().grid()));
  pos_embed_.mutable_grad() = at::Tensor();
}

at::Tensor Vit::adapted(const std::string& name, const at::Tensor& stored) const {
  if (name != "pos_embed" || stored.dim() != 3 || stored.size(2) != dimensions().row.dim) return stored;
  const attention::Grid grid = dimensions().grid();
  return resize_positions(stored, kClassTokens, stored_grid(stored, kClassTokens, grid), grid);
}

ModelPtr make_vit(const Dimensions& dims) { return std::make_shared<Vit>(dims); }

}  // namespace fib::models
