// SPDX-License-Identifier: Apache-2.0
#include "models/torch/pooled_attention.h"

#include <cmath>

namespace fib::models {
namespace {

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

}  // namespace

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
  const at::Tensor pictures = x.permute({0, 2, 3, 1}).reshape({B * H, d, grid.height, grid.width});
  const at::Tensor tokens = to_tokens(pool.conv->forward(pictures));  // [B·H,N',d]
  return pool.norm->forward(tokens).view({B, H, -1, d});
}

/// [B,H,Tq,d] -> [B,H,Tq,d + rows + columns]: scaled, then the products with every distance of an axis.
at::Tensor PooledAttention::queries_with_distances(const at::Tensor& q) const {
  const attention::Geometry& g = mechanism_->geometry();
  const int64_t B = q.size(0), H = q.size(1), d = q.size(3);
  const at::Tensor picture = q.reshape({B * H, g.query_grid.height, g.query_grid.width, d});
  const at::Tensor rows = by_distance(rel_pos_h_, g.query_grid.height, g.key_grid.height);
  const at::Tensor columns = by_distance(rel_pos_w_, g.query_grid.width, g.key_grid.width);
  const auto shaped = [&](const at::Tensor& t) { return t.reshape({B, H, q.size(2), -1}); };
  return at::cat({q * (1.0 / std::sqrt(static_cast<double>(d))), shaped(at::einsum("nyxc,ykc->nyxk", {picture, rows})),
                  shaped(at::einsum("nyxc,xkc->nyxk", {picture, columns}))},
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
  const at::Tensor residual = q.transpose(1, 2).flatten(2);  // [B,Tq,D]
  return at::dropout(proj_->forward(mixed + residual), dropout_, is_training());
}

}  // namespace fib::models
