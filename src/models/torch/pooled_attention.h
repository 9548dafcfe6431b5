// SPDX-License-Identifier: Apache-2.0
// The attention of MViTv2.
#pragma once

#include "models/torch/conv_layers.h"
#include "models/torch/layers.h"

namespace fib::models {

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

}  // namespace fib::models
