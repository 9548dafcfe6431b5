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
    const at::Tensor scores = dense_scores(in, geometry().score_scale()).masked_fill(outside, score);
    return support_->set().summaries() ? weights_with_summaries(in, scores) : softmax_or_zero(scores);
  }

  /// A summary's weight is shared out among the patches that it is the mean of.
  at::Tensor weights_with_summaries(const Inputs& in, const at::Tensor& scores) const {
    const int64_t cls = support_->set().cls(), patches = support_->set().patches(), tokens = cls + patches;
    const at::Tensor averaging = ops::averaging_matrix(*support_->set().summaries()).to(scores.options());  // [S,N]
    const at::Tensor sizes = averaging.gt(0).sum(1).to(scores.scalar_type());
    const at::Tensor means = at::matmul(averaging, in.k.narrow(2, cls, patches));  // [B,H,S,d]
    at::Tensor of_means = at::matmul(in.q * geometry().score_scale(), means.transpose(2, 3)) + sizes.log();
    of_means.narrow(2, 0, cls).fill_(-std::numeric_limits<double>::infinity());
    const at::Tensor all = softmax_or_zero(at::cat({scores, of_means}, 3));
    at::Tensor result = all.narrow(3, 0, tokens).clone();
    result.narrow(3, cls, patches).add_(at::matmul(all.narrow(3, tokens, sizes.size(0)), averaging));
    return result;
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
