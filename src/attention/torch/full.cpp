// SPDX-License-Identifier: Apache-2.0
// Dense attention: by the tiled kernel where it serves, else by LibTorch's products.
#include <torch/version.h>

#include "attention/torch/mechanism.h"
#include "ops/attention.h"

namespace fib::attention {
namespace {

#define FIB_HAS_FUSED_ATTENTION (TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1))

/// Without gradients, as LibTorch's users write it: two batched products and a softmax in place. Memory is B·H·T².
at::Tensor attend_in_products(const Inputs& in, double scale) {
  at::Tensor scores = dense_scores(in, scale);
  if (in.bias.defined()) {
    scores = softmax_or_zero(scores);
  } else {
    at::_softmax_out(scores, scores, -1, false);
  }
  return merge_heads(at::matmul(scores, in.v));
}

class Full final : public Mechanism {
 public:
  Full(const AttentionSpec& spec, const Geometry& g, double dropout)
      : Mechanism(spec, g, dropout), tiles_(choice_option(spec, "path") == "tiles") {}

 private:
  at::Tensor attend(const Inputs& in) override {
    if (tiles_ && ops::has_dense_kernel(in.q)) {
      return merge_heads(ops::attention({in.q, in.k, in.v}, arguments(in.bias)));
    }
    const double scale = geometry().score_scale(), dropout = active_dropout();
#if FIB_HAS_FUSED_ATTENTION
    if (!in.bias.defined()) {
      return merge_heads(at::scaled_dot_product_attention(in.q, in.k, in.v, {}, dropout, false, scale));
    }
#endif
    if (!at::GradMode::is_enabled() && dropout == 0.0) return attend_in_products(in, scale);
    return merge_heads(at::matmul(at::dropout(weights(in), dropout, is_training()), in.v));
  }

  at::Tensor attend_packed(const at::Tensor& qkv, const at::Tensor& bias) override {
    if (!tiles_ || !ops::has_dense_kernel(qkv)) return Mechanism::attend_packed(qkv, bias);
    return ops::attention({qkv}, arguments(bias));
  }

  ops::Arguments arguments(const at::Tensor& bias) const {
    return {.pairs = {}, .bias = ops::if_defined(bias), .scale = geometry().score_scale(), .dropout = active_dropout()};
  }

  at::Tensor weights(const Inputs& in) override {
    const at::Tensor scores = dense_scores(in, geometry().score_scale());
    return in.bias.defined() ? softmax_or_zero(scores) : at::softmax(scores, -1);
  }

  bool tiles_;
};

}  // namespace

MechanismPtr make_full(const AttentionSpec& spec, const Geometry& geometry, double dropout) {
  return std::make_shared<Full>(spec, geometry, dropout);
}

}  // namespace fib::attention
