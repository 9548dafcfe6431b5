// SPDX-License-Identifier: Apache-2.0
#include "models/vit.h"

#include <sstream>
#include <stdexcept>

#include "models/position.h"

namespace fib::models {
namespace {

constexpr int64_t kClassTokens = 1;

/// Block i of L drops its branches with rate · i / (L - 1).
BlockRates rates_of(const Dimensions& d, int64_t layer) {
  const double share = d.row.depth > 1 ? static_cast<double>(layer) / static_cast<double>(d.row.depth - 1) : 0.0;
  return {d.options.dropout, d.options.attention_dropout, d.options.drop_path * share};
}

void check_images(const at::Tensor& images, const Dimensions& d) {
  const bool good = images.dim() == 4 && images.size(1) == d.options.channels && images.size(2) == d.height &&
                    images.size(3) == d.width;
  if (good) return;
  std::ostringstream message;
  message << d.row.name << " takes pictures [B, " << d.options.channels << ", " << d.height << ", " << d.width
          << "], got " << images.sizes();
  throw std::invalid_argument(message.str());
}

}  // namespace

Vit::Vit(const Dimensions& dims) : Model("Vit"), dims_(dims) {
  register_parts();
  if (dims.options.initialise) initialise();
}

/// In timm's order, which is the order of the state dict.
void Vit::register_parts() {
  const Row& row = dims_.row;
  cls_token_ = register_parameter("cls_token", at::empty({1, kClassTokens, row.dim}));
  pos_embed_ = register_parameter("pos_embed", at::empty({1, dims_.tokens(), row.dim}));
  patch_embed_ =
      register_module("patch_embed", std::make_shared<PatchEmbed>(dims_.options.channels, row.dim, row.patch));
  const auto blocks = register_module("blocks", std::make_shared<torch::nn::ModuleListImpl>());
  for (int64_t l = 0; l < row.depth; ++l) {
    blocks_.push_back(std::make_shared<Block>(row.dim, dims_.hidden(), dims_.options.attention, dims_.geometry(l),
                                              rates_of(dims_, l)));
    blocks->push_back(blocks_.back());
  }
  const bool mean = dims_.options.pool == Pool::mean;
  auto& norm = mean ? fc_norm_ : norm_;
  norm = register_module(mean ? "fc_norm" : "norm", std::make_shared<LayerNorm>(row.dim));
  head_ = register_module("head", std::make_shared<Linear>(row.dim, row.classes));
}

void Vit::initialise() {
  const at::NoGradGuard no_grad;
  initialise_like_timm(*this);
  cls_token_.normal_(0.0, 1e-6);
  pos_embed_.normal_(0.0, 0.02);
}

at::Tensor Vit::embed(const at::Tensor& images) {
  check_images(images, dims_);
  const at::Tensor cls = cls_token_.expand({images.size(0), -1, -1});
  const at::Tensor x = at::cat({cls, patch_embed_->forward(images)}, 1);  // [B,T,D]
  return at::dropout(add_branch(x, pos_embed_), dims_.options.dropout, is_training());
}

at::Tensor Vit::before_block(const at::Tensor& images, int64_t depth) {
  at::Tensor x = embed(images);
  for (int64_t l = 0; l < depth; ++l) x = blocks_[static_cast<size_t>(l)]->forward(x);
  return x;
}

at::Tensor Vit::tokens(const at::Tensor& images) { return normed(before_block(images, dims_.row.depth)); }

/// A norm acts on each token by itself, so only the token that is looked at needs it.
at::Tensor Vit::features(const at::Tensor& images) {
  const at::Tensor x = before_block(images, dims_.row.depth);
  if (dims_.options.pool == Pool::token) return norm_->forward(x.select(1, 0));
  return fc_norm_->forward(x.narrow(1, kClassTokens, x.size(1) - kClassTokens).mean(1));
}

LayerView Vit::inspect(const at::Tensor& images, int64_t layer) {
  if (layer < 0 || layer >= dims_.row.depth) {
    throw std::invalid_argument(dims_.row.name + " has layers 0 to " + std::to_string(dims_.row.depth - 1) + ", got " +
                                std::to_string(layer));
  }
  Block& block = *blocks_[static_cast<size_t>(layer)];
  const attention::Inputs in = block.attention_inputs(before_block(images, layer));
  const at::Tensor merged = block.mechanism()->forward(in);  // [B,T,H·e]
  const at::Tensor heads = merged.view({merged.size(0), merged.size(1), in.v.size(1), -1}).transpose(1, 2);
  return {block.mechanism()->probabilities(in), heads};
}

std::vector<attention::MechanismPtr> Vit::attentions() const {
  std::vector<attention::MechanismPtr> list;
  for (const auto& block : blocks_) list.push_back(block->mechanism());
  return list;
}

void Vit::set_resolution(int64_t height, int64_t width) {
  const Dimensions after = resized(dims_, height, width);
  for (const auto& mechanism : attentions()) mechanism->resize(after.grid(), after.grid());
  const at::NoGradGuard no_grad;
  pos_embed_.set_data(resize_positions(pos_embed_, kClassTokens, dims_.grid(), after.grid()));
  pos_embed_.mutable_grad() = at::Tensor();
  dims_ = after;
}

at::Tensor Vit::adapted(const std::string& name, const at::Tensor& stored) const {
  if (name != "pos_embed" || stored.dim() != 3 || stored.size(2) != dims_.row.dim) return stored;
  return resize_positions(stored, kClassTokens, stored_grid(stored, kClassTokens, dims_.grid()), dims_.grid());
}

}  // namespace fib::models
