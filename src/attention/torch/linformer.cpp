// SPDX-License-Identifier: Apache-2.0
// Linformer: keys and values are projected from Tk tokens to k by learned maps, one pair per layer for all heads.
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "attention/torch/mechanism.h"

namespace fib::attention {
namespace {

class Linformer final : public Mechanism {
 public:
  Linformer(const AttentionSpec& spec, const Geometry& g, double dropout) : Mechanism(spec, g, dropout) {
    const int64_t k = integer_option(spec, "k", 1, g.key_grid.tokens());
    proj_k_ = register_parameter("proj_k", initial_projection(k, g.key_tokens()));
    proj_v_ = register_parameter("proj_v", initial_projection(k, g.key_tokens()));
  }

 private:
  /// Like a linear layer's weight: the projected keys have the variance of the keys over three.
  static at::Tensor initial_projection(int64_t k, int64_t tokens) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(tokens));
    return at::empty({k, tokens}).uniform_(-bound, bound);
  }

  at::Tensor projected_weights(const Inputs& in) const {
    const at::Tensor keys = at::matmul(proj_k_, in.k);  // [B,H,k,d]
    return at::softmax(dense_scores({in.q, keys, in.v, {}}, geometry().score_scale()), -1);
  }

  at::Tensor attend(const Inputs& in) override {
    const at::Tensor p = at::dropout(projected_weights(in), active_dropout(), is_training());
    return merge_heads(at::matmul(p, at::matmul(proj_v_, in.v)));
  }

  at::Tensor weights(const Inputs& in) override { return at::matmul(projected_weights(in), proj_v_); }

  void regrid() override {
    const int64_t tokens = geometry().key_tokens();
    if (proj_k_.size(1) == tokens) return;
    throw std::invalid_argument(
        fmt::format("linformer learns its projections for {} tokens and cannot take {}", proj_k_.size(1), tokens));
  }

  at::Tensor proj_k_, proj_v_;
};

}  // namespace

MechanismPtr make_linformer(const AttentionSpec& spec, const Geometry& geometry, double dropout) {
  return std::make_shared<Linformer>(spec, geometry, dropout);
}

}  // namespace fib::attention
