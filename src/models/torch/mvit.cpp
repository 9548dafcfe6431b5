// SPDX-License-Identifier: Apache-2.0
#include "models/torch/mvit.h"

#include "models/torch/pooled_attention.h"

namespace fib::models {

/// Width changes inside attention, and with the grid on the way around it.
class Mvit::PooledBlock : public torch::nn::Module {
 public:
  PooledBlock(const PooledAttention::Shape& shape, const AttentionLayer& layer, const BlockRates& rates)
      : stride_(shape.query_stride), drop_path_(rates.drop_path) {
    const int64_t dim = layer.geometry.heads * layer.geometry.value_dim;
    norm1_ = register_module("norm1", std::make_shared<LayerNorm>(shape.from));
    if (shape.from != dim) {
      shortcut_ = register_module("shortcut_proj_attn", std::make_shared<Linear>(shape.from, dim));
    }
    attn_ = register_module("attn", std::make_shared<PooledAttention>(shape, layer, rates));
    norm2_ = register_module("norm2", std::make_shared<LayerNorm>(dim));
    mlp_ = register_module("mlp", std::make_shared<Mlp>(MlpShape{dim, 4 * dim}, rates.dropout));
  }

  at::Tensor forward(const at::Tensor& x, const attention::Grid& grid) {
    const at::Tensor normed = norm1_->forward(x);
    const at::Tensor around = shrunk(shortcut_ ? shortcut_->forward(normed) : x, grid);
    const at::Tensor y = add_branch(around, drop_path(attn_->forward(normed, grid), drop_path_, is_training()));
    return add_branch(y, drop_path(mlp_->forward(norm2_->forward(y)), drop_path_, is_training()));
  }

  PooledAttention& attention() { return *attn_; }

 private:
  at::Tensor shrunk(const at::Tensor& x, const attention::Grid& grid) const {
    if (stride_ == 1) return x;
    return to_tokens(at::max_pool2d(to_picture(x, grid), 3, stride_, 1)).contiguous();
  }

  std::shared_ptr<LayerNorm> norm1_, norm2_;
  std::shared_ptr<Linear> shortcut_;
  std::shared_ptr<PooledAttention> attn_;
  std::shared_ptr<Mlp> mlp_;
  int64_t stride_;
  double drop_path_;
};

Mvit::Mvit(const Dimensions& dims) : Model(dims) {
  const Row& row = dims.row;
  patch_embed_ = std::make_shared<Conv>(
      ConvConfig{.from = dims.options.channels, .to = row.dim, .kernel = 7, .stride = 4, .bias = true});
  register_at(*this, "patch_embed.proj", patch_embed_);
  const std::vector<AttentionLayer> layers = attention_layers(dims);
  int64_t from = row.dim, depth = 0;
  for (size_t s = 0; s < row.stages.size(); ++s) {
    for (int64_t i = 0; i < row.stages[s].depth; ++i, ++depth) {
      const PooledAttention::Shape shape{from, s > 0 && i == 0 ? 2 : 1, std::max<int64_t>(1, 4 >> s)};
      blocks_.push_back(std::make_shared<PooledBlock>(shape, layers[static_cast<size_t>(depth)],
                                                      rates_of(dims.options, depth, row.depth)));
      register_at(*this, "stages." + std::to_string(s) + ".blocks." + std::to_string(i), blocks_.back());
      from = row.stages[s].dim;
    }
  }
  norm_ = register_module("norm", std::make_shared<LayerNorm>(from));
  head_ = std::make_shared<Linear>(from, row.classes);
  register_at(*this, "head.fc", head_);
  if (dims.options.initialise) initialise();
}

void Mvit::initialise() {
  const at::NoGradGuard no_grad;
  initialise_convolutional(*this, KernelStart::uniform);
  for (auto& item : named_parameters()) {
    if (item.key().find(".rel_pos_") != std::string::npos) item.value().normal_(0.0, 0.02);
  }
}

at::Tensor Mvit::tokens(const at::Tensor& images) {
  check_images(images);
  const at::Tensor embedded = patch_embed_->forward(images);
  attention::Grid grid{embedded.size(2), embedded.size(3)};
  at::Tensor x = to_tokens(embedded).contiguous();
  for (const auto& block : blocks_) {
    x = block->forward(x, grid);
    grid = block->attention().mechanism()->geometry().query_grid;
  }
  return norm_->forward(x);
}

std::vector<attention::MechanismPtr> Mvit::attentions() const {
  std::vector<attention::MechanismPtr> list;
  for (const auto& block : blocks_) list.push_back(block->attention().mechanism());
  return list;
}

void Mvit::set_resolution(int64_t height, int64_t width) {
  take_dimensions(resized(dimensions(), height, width));
  for (const auto& block : blocks_) block->attention().fit_tables();
}

at::Tensor Mvit::adapted(const std::string& name, const at::Tensor& stored) const {
  if (name.find(".rel_pos_") == std::string::npos || stored.dim() != 2) return stored;
  const auto parameters = named_parameters();
  const at::Tensor* wanted = parameters.find(name);
  const bool same_width = wanted != nullptr && wanted->size(1) == stored.size(1);
  return same_width ? resize_distances(stored, wanted->size(0)) : stored;
}

}  // namespace fib::models
