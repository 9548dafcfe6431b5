// SPDX-License-Identifier: Apache-2.0
// This project's kernel on the two layouts that models have.
#include "bench/torch/attention_contestants.h"

namespace fib::bench {
namespace {

/// Everything the kernel writes. `lse` is part of its extra memory.
struct Buffers {
  at::Tensor out, lse, dq, dk, dv;
};

/// q, k, v and results as [B,H,T,d].
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

 private:
  TokenView<const float> read(const at::Tensor& x) const {
    return head_major<const float>(x.data_ptr<float>(), p_->shape);
  }
  TokenView<float> write(const at::Tensor& x) const { return head_major<float>(x.data_ptr<float>(), p_->shape); }
  AttentionInputs<float> inputs() const { return {read(p_->q), read(p_->k), read(p_->v)}; }

  const AttentionProblem* p_ = nullptr;
  Buffers b_;
};

/// qkv [B,T,3,H,d] as one linear layer writes it, read in place; output [B,T,H·d] and gradient [B,T,3,H,d] likewise.
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

}  // namespace

std::unique_ptr<Contestant> make_kernel_contestant() { return std::make_unique<HeadMajor>(); }
std::unique_ptr<Contestant> make_packed_kernel_contestant() { return std::make_unique<Packed>(); }

std::vector<std::unique_ptr<Contestant>> attention_contestants() {
  std::vector<std::unique_ptr<Contestant>> all;
  all.push_back(make_kernel_contestant());
  all.push_back(make_packed_kernel_contestant());
  all.push_back(make_dense_contestant());
  all.push_back(make_masked_dense_contestant());
  all.push_back(make_memcpy_contestant());
  return all;
}

}  // namespace fib::bench
