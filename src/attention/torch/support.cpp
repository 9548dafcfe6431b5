// SPDX-License-Identifier: Apache-2.0
// The adapter that serves every support set: which pairs comes from patterns/, the arithmetic from ops/.
#include <limits>

#include "attention/torch/mechanism.h"
#include "ops/attention.h"

namespace fib::attention {
namespace {

class SupportMechanism final : public Mechanism {
 public:
  SupportMechanism(const AttentionSpec& spec, const Geometry& g, double dropout)
      : Mechanism(spec, g, dropout), masking_(masking_of(spec)) {
    SupportMechanism::regrid();
  }

 private:
  void regrid() override { support_ = ops::make_support_ptr(layer_support(spec(), geometry())); }

  at::Tensor attend(const Inputs& in) override {
    return merge_heads(ops::attention({in.q, in.k, in.v}, arguments(in.bias)));
  }

  at::Tensor attend_packed(const at::Tensor& qkv, const at::Tensor& bias) override {
    return ops::attention({qkv}, arguments(bias));
  }

  at::Tensor weights(const Inputs& in) override {
    const at::Tensor outside = ops::support_mask(support_->set()).logical_not();
    const double score = masking_ == Masking::zero ? 0.0 : -std::numeric_limits<double>::infinity();
    return softmax_or_zero(dense_scores(in, geometry().score_scale()).masked_fill(outside, score));
  }

  ops::Arguments arguments(const at::Tensor& bias) const {
    return {.pairs = {support_},
            .bias = ops::if_defined(bias),
            .scale = geometry().score_scale(),
            .masking = masking_,
            .dropout = active_dropout()};
  }

  Masking masking_;
  ops::SupportPtr support_;  // a member and not a buffer: it is made from the geometry, never loaded
};

}  // namespace

MechanismPtr make_support_mechanism(const AttentionSpec& spec, const Geometry& geometry, double dropout) {
  return std::make_shared<SupportMechanism>(spec, geometry, dropout);
}

}  // namespace fib::attention
