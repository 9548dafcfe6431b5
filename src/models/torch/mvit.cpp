// SPDX-License-Identifier: Apache-2.0
// MViTv2, with timm's parameter names: attention whose queries, keys and values are pooled by depthwise convolutions,
// whose scores know distances in rows and columns, and whose output is added to the queries.
#include <cmath>

#include "models/torch/conv_layers.h"
#include "models/torch/layers.h"
#include "models/torch/model.h"

namespace fib::models {
namespace {

class Mvit final : public Model {
 public:
  explicit Mvit(const Dimensions& dims);

  at::Tensor tokens(const at::Tensor& images) override;
  at::Tensor features(const at::Tensor& images) override { return tokens(images).mean(1); }
  at::Tensor classify(const at::Tensor& features) override { return head_->forward(features); }
  std::vector<attention::MechanismPtr> attentions() const override;
  void set_resolution(int64_t height, int64_t width) override;
  at::Tensor adapted(const std::string& name, const at::Tensor& stored) const override;

 private:
  class PooledBlock;
  void initialize();

  std::shared_ptr<Conv> patch_embed_;
  std::vector<std::shared_ptr<PooledBlock>> blocks_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

class PooledAttention : public torch::nn::Module {
 public:
  struct Shape {
    int64_t from = 0;  ///< channels of the tokens that enter
    int64_t query_stride = 1;
    int64_t key_stride = 1;
  };

  PooledAttention(const Shape& shape, const AttentionLayer& layer, const BlockRates& rates);
  /// [B,h·w,from] -> [B,Tq,D]
  at::Tensor forward(const at::Tensor& x, const attention::Grid& grid);
  /// The tables of distances, interpolated for the mechanism's grids.
  void fit_tables();
  const attention::MechanismPtr& mechanism() const { return mechanism_; }

 private:
  /// A depthwise convolution that heads share, and a norm.
  struct Pool {
    std::shared_ptr<Conv> conv;
    std::shared_ptr<LayerNorm> norm;
  };
  Pool make_pool(const std::string& name, int64_t channels, int64_t stride);
  static at::Tensor pooled(const at::Tensor& x, const Pool& pool, const attention::Grid& grid);
  at::Tensor queries_with_distances(const at::Tensor& q) const;
  at::Tensor keys_with_places(const at::Tensor& k) const;

  at::Tensor rel_pos_h_, rel_pos_w_;  // [2 max(queries, keys) - 1, d] of an axis
  std::shared_ptr<Linear> qkv_, proj_;
  Pool q_, k_, v_;
  attention::MechanismPtr mechanism_;
  double dropout_;
};

/// A table of distances [n,d] for another number of them, linear between neighbours.
at::Tensor resize_distances(const at::Tensor& table, int64_t count);

int64_t distances(int64_t queries, int64_t keys) { return 2 * std::max(queries, keys) - 1; }

/// Rows of a table by distance on the finer of two axes: [queries,keys,d].
at::Tensor by_distance(const at::Tensor& table, int64_t queries, int64_t keys) {
  const double q = static_cast<double>(queries), k = static_cast<double>(keys);
  const double query_step = std::max(k / q, 1.0), key_step = std::max(q / k, 1.0);
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const at::Tensor query_at = at::arange(queries, options).unsqueeze(1) * query_step;
  const at::Tensor key_at = at::arange(keys, options).unsqueeze(0) * key_step;
  const at::Tensor index = (query_at - key_at + (k - 1) * key_step).to(at::kLong);
  return table.index_select(0, index.flatten()).view({queries, keys, -1});
}

at::Tensor resize_distances(const at::Tensor& table, int64_t count) {
  if (table.size(0) == count) return table;
  return at::upsample_linear1d(table.t().unsqueeze(0), {count}, false).squeeze(0).t().contiguous();
}

PooledAttention::PooledAttention(const Shape& shape, const AttentionLayer& layer, const BlockRates& rates)
    : mechanism_(attention::make(layer.attention, layer.geometry, rates.attention_dropout)), dropout_(rates.dropout) {
  const attention::Geometry& g = layer.geometry;
  const int64_t d = g.value_dim, dim = g.heads * d;
  rel_pos_h_ = register_parameter("rel_pos_h", at::empty({distances(g.query_grid.height, g.key_grid.height), d}));
  rel_pos_w_ = register_parameter("rel_pos_w", at::empty({distances(g.query_grid.width, g.key_grid.width), d}));
  qkv_ = register_module("qkv", std::make_shared<Linear>(shape.from, 3 * dim));
  proj_ = register_module("proj", std::make_shared<Linear>(dim, dim));
  q_ = make_pool("q", d, shape.query_stride);
  k_ = make_pool("k", d, shape.key_stride);
  v_ = make_pool("v", d, shape.key_stride);
  register_module("mechanism", mechanism_);
}

PooledAttention::Pool PooledAttention::make_pool(const std::string& name, int64_t channels, int64_t stride) {
  return {register_module("pool_" + name, std::make_shared<Conv>(ConvConfig{channels, channels, 3, stride, true})),
          register_module("norm_" + name, std::make_shared<LayerNorm>(channels))};
}

void PooledAttention::fit_tables() {
  const at::NoGradGuard no_grad;
  const attention::Geometry& g = mechanism_->geometry();
  const auto fit = [](at::Tensor& table, int64_t queries, int64_t keys) {
    table.set_data(resize_distances(table, distances(queries, keys)));
    table.mutable_grad() = at::Tensor();
  };
  fit(rel_pos_h_, g.query_grid.height, g.key_grid.height);
  fit(rel_pos_w_, g.query_grid.width, g.key_grid.width);
}

/// [B,N,H,d] -> [B,H,N',d]
at::Tensor PooledAttention::pooled(const at::Tensor& x, const Pool& pool, const attention::Grid& grid) {
  const int64_t B = x.size(0), H = x.size(2), d = x.size(3);
  const at::Tensor images = x.permute({0, 2, 3, 1}).reshape({B * H, d, grid.height, grid.width});
  const at::Tensor tokens = to_tokens(pool.conv->forward(images));  // [B·H,N',d]
  return pool.norm->forward(tokens).view({B, H, -1, d});
}

/// [B,H,Tq,d] -> [B,H,Tq,d + rows + columns]: scaled, then the products with every distance of an axis.
at::Tensor PooledAttention::queries_with_distances(const at::Tensor& q) const {
  const attention::Geometry& g = mechanism_->geometry();
  const int64_t B = q.size(0), H = q.size(1), d = q.size(3);
  const at::Tensor image = q.reshape({B * H, g.query_grid.height, g.query_grid.width, d});
  const at::Tensor rows = by_distance(rel_pos_h_, g.query_grid.height, g.key_grid.height);
  const at::Tensor columns = by_distance(rel_pos_w_, g.query_grid.width, g.key_grid.width);
  const auto shaped = [&](const at::Tensor& t) { return t.reshape({B, H, q.size(2), -1}); };
  return at::cat({q * (1.0 / std::sqrt(static_cast<double>(d))), shaped(at::einsum("nyxc,ykc->nyxk", {image, rows})),
                  shaped(at::einsum("nyxc,xkc->nyxk", {image, columns}))},
                 -1);
}

/// [B,H,Tk,d] -> [B,H,Tk,d + rows + columns], with a one where a key's row and its column are.
at::Tensor PooledAttention::keys_with_places(const at::Tensor& k) const {
  const attention::Grid& grid = mechanism_->geometry().key_grid;
  const at::Tensor rows = at::eye(grid.height, k.options()).repeat_interleave(grid.width, 0);
  const at::Tensor columns = at::eye(grid.width, k.options()).repeat({grid.height, 1});
  const at::Tensor places = at::cat({rows, columns}, 1).expand({k.size(0), k.size(1), -1, -1});
  return at::cat({k, places}, -1);
}

at::Tensor PooledAttention::forward(const at::Tensor& x, const attention::Grid& grid) {
  const attention::Geometry& g = mechanism_->geometry();
  const at::Tensor qkv = qkv_->forward(x).view({x.size(0), x.size(1), 3, g.heads, g.value_dim});
  const at::Tensor q = pooled(qkv.select(2, 0), q_, grid);
  const at::Tensor k = pooled(qkv.select(2, 1), k_, grid);
  const at::Tensor v = pooled(qkv.select(2, 2), v_, grid);
  const at::Tensor mixed = mechanism_->forward({queries_with_distances(q), keys_with_places(k), v, {}});
  const at::Tensor residual = attention::merge_heads(q);  // [B,Tq,D]
  return at::dropout(proj_->forward(mixed + residual), dropout_, is_training());
}

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
    return to_tokens(at::max_pool2d(to_image(x, grid), 3, stride_, 1)).contiguous();
  }

  std::shared_ptr<LayerNorm> norm1_, norm2_;
  std::shared_ptr<Linear> shortcut_;
  std::shared_ptr<PooledAttention> attn_;
  std::shared_ptr<Mlp> mlp_;
  int64_t stride_;
  double drop_path_;
};

Mvit::Mvit(const Dimensions& dims) : Model(dims) {
  const ModelRow& row = dims.row;
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
  if (dims.options.initialize) initialize();
}

void Mvit::initialize() {
  const at::NoGradGuard no_grad;
  initialize_convolutional(*this, KernelStart::uniform);
  for (auto& item : named_parameters()) {
    if (item.key().find(".rel_pos_") != std::string::npos) item.value().normal_(0.0, 0.02);
  }
}

at::Tensor Mvit::tokens(const at::Tensor& images) {
  check_input(images);
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

}  // namespace

ModelPtr make_mvit(const Dimensions& dims) { return std::make_shared<Mvit>(dims); }

}  // namespace fib::models
