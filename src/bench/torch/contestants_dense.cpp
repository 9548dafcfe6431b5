// SPDX-License-Identifier: Apache-2.0
// Dense attention on LibTorch, as fast as its operations allow: the scale is part of the product, softmax works in
// place, nothing is allocated, and backward is written out instead of recorded.
#include <cmath>

#include "bench/torch/attention_contestants.h"

namespace fib::bench {
namespace {

/// [B,H,T,d] -> [B·H,T,d], a view.
at::Tensor matrices(const at::Tensor& x) { return x.view({-1, x.size(2), x.size(3)}); }

int64_t scores_bytes(const AttentionShape& s) {
  return s.batch * s.heads * s.query_tokens * s.key_tokens * static_cast<int64_t>(sizeof(float));
}

class Dense : public Contestant {
 public:
  std::string name() const override { return "dense"; }
  Semantics semantics() const override { return Semantics::dense; }
  int64_t pairs(const AttentionProblem& p) const override {
    return p.shape.heads * p.shape.query_tokens * p.shape.key_tokens;
  }

  int64_t bytes(const AttentionShape& s, bool backward) const override {
    return (backward ? 2 : 1) * scores_bytes(s) + (backward ? 4 : 1) * AttentionProblem::tensor_bytes(s);
  }

  void prepare(const AttentionProblem& p) override {
    scale_ = 1.0 / std::sqrt(static_cast<double>(p.shape.dim));
    q_ = matrices(p.q);
    k_ = matrices(p.k);
    v_ = matrices(p.v);
    sizes_ = p.q.sizes().vec();
    p_ = at::empty({q_.size(0), q_.size(1), k_.size(1)});
    out_ = at::empty_like(q_);
    if (!p.backward) return;
    grad_out_ = matrices(p.grad_out);
    dp_ = at::empty_like(p_);
    dq_ = at::empty_like(q_);
    dk_ = at::empty_like(q_);
    dv_ = at::empty_like(q_);
  }

  void forward() override {
    const at::NoGradGuard guard;
    at::baddbmm_out(p_, p_, q_, k_.transpose(1, 2), /*beta=*/0, /*alpha=*/scale_);
    mask_scores();
    at::_softmax_out(p_, p_, -1, /*half_to_float=*/false);
    at::bmm_out(out_, p_, v_);
  }

  void backward() override {
    const at::NoGradGuard guard;
    at::bmm_out(dv_, p_.transpose(1, 2), grad_out_);
    at::bmm_out(dp_, grad_out_, v_.transpose(1, 2));
    at::_softmax_backward_data_out(dp_, dp_, p_, -1, at::kFloat);
    mask_score_gradients();
    at::baddbmm_out(dq_, dq_, dp_, k_, /*beta=*/0, /*alpha=*/scale_);
    at::baddbmm_out(dk_, dk_, dp_.transpose(1, 2), q_, /*beta=*/0, /*alpha=*/scale_);
  }

  AttentionResults results() const override {
    AttentionResults r{out_.view(sizes_), {}, {}, {}};
    if (!dq_.defined()) return r;
    r.dq = dq_.view(sizes_);
    r.dk = dk_.view(sizes_);
    r.dv = dv_.view(sizes_);
    return r;
  }

 protected:
  virtual void mask_scores() {}
  virtual void mask_score_gradients() {}

  std::vector<int64_t> sizes_;  // [B,H,T,d]
  at::Tensor p_, dp_;           // [B·H,T,T]: scores, then probabilities; their gradient

 private:
  double scale_ = 1.0;
  at::Tensor q_, k_, v_, out_, grad_out_, dq_, dk_, dv_;  // [B·H,T,d]
};

/// The published code: full scores times a 0/1 mask, then softmax; a pruned pair keeps score 0.
class MaskedDense : public Dense {
 public:
  std::string name() const override { return "dense-masked"; }
  Semantics semantics() const override { return Semantics::zero_masking; }

  int64_t bytes(const AttentionShape& s, bool backward) const override {
    return Dense::bytes(s, backward) + scores_bytes(s) / s.batch;
  }

  void prepare(const AttentionProblem& p) override {
    Dense::prepare(p);
    mask_ = at::zeros({p.shape.heads, p.shape.query_tokens, p.shape.key_tokens});
    for (int64_t h = 0; h < p.shape.heads; ++h) {
      for (int64_t j = 0; j < p.shape.query_tokens; ++j) {
        float* row = mask_.data_ptr<float>() + (h * p.shape.query_tokens + j) * p.shape.key_tokens;
        for (int64_t k : p.support.keys_of_row(h, j)) row[k] = 1.0F;
      }
    }
  }

 protected:
  void mask_scores() override { per_sample(p_).mul_(mask_); }
  void mask_score_gradients() override { per_sample(dp_).mul_(mask_); }

 private:
  at::Tensor per_sample(const at::Tensor& x) const { return x.view({-1, mask_.size(0), x.size(1), x.size(2)}); }

  at::Tensor mask_;  // [H,T,T]
};

}  // namespace

std::unique_ptr<Contestant> make_dense_contestant() { return std::make_unique<Dense>(); }
std::unique_ptr<Contestant> make_masked_dense_contestant() { return std::make_unique<MaskedDense>(); }

}  // namespace fib::bench
