// SPDX-License-Identifier: Apache-2.0
#include "bench/torch/attention_contestants.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fib::bench {
namespace {

/// Pairs of all heads of one sample.
int64_t dense_pairs(const AttentionProblem& p) { return p.shape.heads * p.shape.query_tokens * p.shape.key_tokens; }

/// Everything the kernel writes. `lse` is part of its extra memory.
struct Buffers {
  at::Tensor out, lse, dq, dk, dv;
};

/// This project's kernel on q, k, v and results as [B,H,T,d].
class HeadMajor : public Contestant {
 public:
  std::string name() const override { return "fibottention"; }

  int64_t bytes(const AttentionShape& s, bool backward) const override {
    return (backward ? 4 : 1) * AttentionProblem::tensor_bytes(s) + s.batch * s.heads * s.query_tokens * 4;
  }

  void prepare(const AttentionProblem& p) override {
    p_ = &p;
    b_.out = at::empty_like(p.q);
    b_.lse = at::empty({p.shape.batch, p.shape.heads, p.shape.query_tokens});
    if (!p.backward) return;
    b_.dq = at::empty_like(p.q);
    b_.dk = at::empty_like(p.q);
    b_.dv = at::empty_like(p.q);
  }

  void forward() override {
    attention_forward<float>(p_->support, p_->shape, inputs(), write(b_.out), b_.lse.data_ptr<float>());
  }

  void backward() override {
    attention_backward<float>(p_->support, p_->shape, inputs(), read(b_.out), b_.lse.data_ptr<float>(),
                              read(p_->grad_out), {write(b_.dq), write(b_.dk), write(b_.dv), {}});
  }

  AttentionResults results() const override { return {b_.out, b_.dq, b_.dk, b_.dv}; }

 protected:
  TokenView<const float> read(const at::Tensor& x) const {
    return head_major<const float>(x.data_ptr<float>(), p_->shape);
  }
  TokenView<float> write(const at::Tensor& x) const { return head_major<float>(x.data_ptr<float>(), p_->shape); }
  AttentionInputs<float> inputs() const { return {read(p_->q), read(p_->k), read(p_->v)}; }

  const AttentionProblem* p_ = nullptr;
  Buffers b_;
};

/// This project's dense kernel: all pairs, and no scores in memory.
class TiledDense : public HeadMajor {
 public:
  std::string name() const override { return "dense-tiled"; }
  Semantics semantics() const override { return Semantics::dense; }
  int64_t pairs(const AttentionProblem& p) const override { return dense_pairs(p); }

  /// It has memory for any size, and no end: 2e12 operations take about half a minute of two cores. An exponential
  /// counts as 32.
  std::string refusal(const AttentionShape& s, bool backward) const override {
    const double scores = static_cast<double>(s.batch * s.heads) * static_cast<double>(s.query_tokens) *
                          static_cast<double>(s.key_tokens);
    const double operations = (backward ? 4 : 1) * scores * (4.0 * static_cast<double>(s.dim) + 32.0);
    return operations > 2e12 ? "needs minutes: every query meets every key" : "";
  }

  void forward() override {
    dense_attention_forward<float>(p_->shape, inputs(), write(b_.out), b_.lse.data_ptr<float>());
  }

  void backward() override {
    dense_attention_backward<float>(p_->shape, inputs(), read(b_.out), b_.lse.data_ptr<float>(), read(p_->grad_out),
                                    {write(b_.dq), write(b_.dk), write(b_.dv), {}});
  }
};

/// The kernel on qkv [B,T,3,H,d] as one linear layer writes it, read in place; output [B,T,H·d] and gradient
/// [B,T,3,H,d] likewise.
class Packed : public Contestant {
 public:
  std::string name() const override { return "fibottention-packed"; }
  bool copies_inputs() const override { return true; }

  int64_t bytes(const AttentionShape& s, bool backward) const override {
    return (backward ? 8 : 4) * AttentionProblem::tensor_bytes(s) + s.batch * s.heads * s.query_tokens * 4;
  }

  void prepare(const AttentionProblem& p) override {
    p_ = &p;
    const AttentionShape& s = p.shape;
    qkv_ = at::empty({s.batch, s.query_tokens, 3, s.heads, s.dim});
    int64_t part = 0;
    for (const at::Tensor* x : {&p.q, &p.k, &p.v}) qkv_.select(2, part++).copy_(x->transpose(1, 2));
    out_ = at::empty({s.batch, s.query_tokens, s.heads, s.dim});
    lse_ = at::empty({s.batch, s.heads, s.query_tokens});
    if (!p.backward) return;
    grad_out_ = p.grad_out.transpose(1, 2).contiguous();
    dqkv_ = at::empty_like(qkv_);
  }

  void forward() override {
    attention_forward<float>(p_->support, p_->shape, inputs(), tokens<float>(out_), lse_.data_ptr<float>());
  }

  void backward() override {
    attention_backward<float>(p_->support, p_->shape, inputs(), tokens<const float>(out_), lse_.data_ptr<float>(),
                              tokens<const float>(grad_out_),
                              {part<float>(dqkv_, 0), part<float>(dqkv_, 1), part<float>(dqkv_, 2), {}});
  }

  AttentionResults results() const override {
    AttentionResults r{out_.transpose(1, 2), {}, {}, {}};
    if (!dqkv_.defined()) return r;
    r.dq = dqkv_.select(2, 0).transpose(1, 2);
    r.dk = dqkv_.select(2, 1).transpose(1, 2);
    r.dv = dqkv_.select(2, 2).transpose(1, 2);
    return r;
  }

 private:
  template <class T>
  TokenView<T> tokens(const at::Tensor& x) const {
    const AttentionShape& s = p_->shape;
    return {x.data_ptr<float>(), s.query_tokens * s.heads * s.dim, s.dim, s.heads * s.dim};
  }
  template <class T>
  TokenView<T> part(const at::Tensor& x, int64_t i) const {
    const AttentionShape& s = p_->shape;
    const int64_t token = 3 * s.heads * s.dim;
    return {x.data_ptr<float>() + i * s.heads * s.dim, s.query_tokens * token, s.dim, token};
  }
  AttentionInputs<float> inputs() const {
    return {part<const float>(qkv_, 0), part<const float>(qkv_, 1), part<const float>(qkv_, 2)};
  }

  const AttentionProblem* p_ = nullptr;
  at::Tensor qkv_, out_, lse_, grad_out_, dqkv_;
};

/// [B,H,T,d] -> [B·H,T,d], a view.
at::Tensor matrices(const at::Tensor& x) { return x.view({-1, x.size(2), x.size(3)}); }

int64_t scores_bytes(const AttentionShape& s) {
  return s.batch * s.heads * s.query_tokens * s.key_tokens * static_cast<int64_t>(sizeof(float));
}

/// Dense attention on LibTorch, as fast as its operations allow: softmax works in place, nothing is allocated, and
/// backward is written out instead of recorded. The queries are scaled and not the scores; baddbmm would scale while it
/// multiplies, but with beta 0 it still reads the memory it is to overwrite, and a NaN there stays (pytorch#96037).
class Dense : public Contestant {
 public:
  std::string name() const override { return "dense"; }
  Semantics semantics() const override { return Semantics::dense; }
  int64_t pairs(const AttentionProblem& p) const override { return dense_pairs(p); }

  int64_t bytes(const AttentionShape& s, bool backward) const override {
    return (backward ? 2 : 1) * scores_bytes(s) + (backward ? 5 : 2) * AttentionProblem::tensor_bytes(s);
  }

  void prepare(const AttentionProblem& p) override {
    scale_ = at::scalar_tensor(1.0 / std::sqrt(static_cast<double>(p.shape.dim)), at::kFloat);
    q_ = matrices(p.q);
    scaled_q_ = at::empty_like(q_);
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
    at::mul_out(scaled_q_, q_, scale_);
    at::bmm_out(p_, scaled_q_, k_.transpose(1, 2));
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
    at::bmm_out(dq_, dp_, k_).mul_(scale_);
    at::bmm_out(dk_, dp_.transpose(1, 2), scaled_q_);
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
  at::Tensor scale_;
  at::Tensor q_, scaled_q_, k_, v_, out_, grad_out_, dq_, dk_, dv_;  // [B·H,T,d]
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

/// How fast memory is: four tensors of the problem's size are copied, on as many threads as the others have.
class Memcpy : public Contestant {
 public:
  std::string name() const override { return "memcpy"; }
  bool computes() const override { return false; }
  int64_t pairs(const AttentionProblem&) const override { return 0; }
  int64_t bytes(const AttentionShape& s, bool) const override { return 5 * AttentionProblem::tensor_bytes(s); }

  void prepare(const AttentionProblem& p) override {
    const at::Tensor fourth = p.v.clone();
    for (const at::Tensor& x : {p.q, p.k, p.v, fourth}) {
      from_.push_back(x);
      to_.push_back(at::empty_like(x));
    }
  }

  void forward() override {
    constexpr int64_t kChunk = 1 << 18;
    const int64_t bytes = static_cast<int64_t>(from_.front().nbytes()), chunks = (bytes + kChunk - 1) / kChunk;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < 4 * chunks; ++i) {
      const size_t buffer = static_cast<size_t>(i / chunks);
      const int64_t begin = i % chunks * kChunk;
      std::memcpy(static_cast<char*>(to_[buffer].data_ptr()) + begin,
                  static_cast<const char*>(from_[buffer].data_ptr()) + begin,
                  static_cast<size_t>(std::min(kChunk, bytes - begin)));
    }
  }

 private:
  std::vector<at::Tensor> from_, to_;
};

}  // namespace

std::unique_ptr<Contestant> make_kernel_contestant() { return std::make_unique<HeadMajor>(); }
std::unique_ptr<Contestant> make_packed_kernel_contestant() { return std::make_unique<Packed>(); }
std::unique_ptr<Contestant> make_dense_contestant() { return std::make_unique<Dense>(); }
std::unique_ptr<Contestant> make_tiled_dense_contestant() { return std::make_unique<TiledDense>(); }
std::unique_ptr<Contestant> make_masked_dense_contestant() { return std::make_unique<MaskedDense>(); }
std::unique_ptr<Contestant> make_memcpy_contestant() { return std::make_unique<Memcpy>(); }

std::vector<std::unique_ptr<Contestant>> attention_contestants() {
  std::vector<std::unique_ptr<Contestant>> all;
  all.push_back(make_kernel_contestant());
  all.push_back(make_packed_kernel_contestant());
  all.push_back(make_dense_contestant());
  all.push_back(make_tiled_dense_contestant());
  all.push_back(make_masked_dense_contestant());
  all.push_back(make_memcpy_contestant());
  return all;
}

}  // namespace fib::bench
