// SPDX-License-Identifier: Apache-2.0
// The parts that backbones share, with timm's parameter names. Parameters are made unset: a model initialises or loads
// them, and a large one that does neither costs no memory.
//
// Letters: B samples, T tokens, D channels of a token, H heads, d channels of a query or key, e of a value.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "attention/mechanism.h"

namespace fib::models {

class Linear : public torch::nn::Module {
 public:
  Linear(int64_t from, int64_t to, bool with_bias = true);
  at::Tensor forward(const at::Tensor& x) const { return at::linear(x, weight, bias); }

  at::Tensor weight, bias;
};

class LayerNorm : public torch::nn::Module {
 public:
  explicit LayerNorm(int64_t dim, double eps = 1e-6);
  at::Tensor forward(const at::Tensor& x) const { return at::layer_norm(x, {weight.size(0)}, weight, bias, eps_); }

  at::Tensor weight, bias;

 private:
  double eps_;
};

/// Non-overlapping square patches, in reading order: [B,C,h,w] -> [B,N,D]. Its only child holds the weights [D,C,p,p]
/// and biases of timm's convolution; as patches do not overlap, it is a linear map, and gives tokens without a copy.
class PatchEmbed : public torch::nn::Module {
 public:
  PatchEmbed(int64_t channels, int64_t dim, int64_t patch);
  at::Tensor forward(const at::Tensor& images) const;
  /// As torch initialises a convolution: uniform up to 1/√fan_in.
  void initialise();

 private:
  class Projection : public torch::nn::Module {
   public:
    Projection(int64_t channels, int64_t dim, int64_t patch);
    at::Tensor weight, bias;
  };
  std::shared_ptr<Projection> proj_;
};

/// Per sample: the whole branch is dropped with probability `rate`, or scaled by 1/(1 - rate).
at::Tensor drop_path(const at::Tensor& branch, double rate, bool training);

/// x + branch; without gradients in the memory of x, which the caller must own.
at::Tensor add_branch(const at::Tensor& x, const at::Tensor& branch);

struct BlockRates {
  double dropout = 0.0;
  double attention_dropout = 0.0;
  double drop_path = 0.0;
};

/// Multi-head self-attention around a mechanism: qkv, mechanism, projection.
class SelfAttention : public torch::nn::Module {
 public:
  SelfAttention(int64_t dim, const AttentionSpec& spec, const attention::Geometry& geometry, const BlockRates& rates);
  at::Tensor forward(const at::Tensor& x);
  /// The mechanism's inputs for x [B,T,D].
  attention::Inputs inputs(const at::Tensor& x);
  const attention::MechanismPtr& mechanism() const { return mechanism_; }

 private:
  std::shared_ptr<Linear> qkv_, proj_;
  attention::MechanismPtr mechanism_;
  double dropout_;
};

class Mlp : public torch::nn::Module {
 public:
  Mlp(int64_t dim, int64_t hidden, double dropout);
  at::Tensor forward(const at::Tensor& x);

 private:
  /// Without gradients: some rows at a time, so that the hidden activations stay in the cache and no memory is asked
  /// of the system for them (a fresh 50 MB cost 11 ms of page faults beside 3 ms of GELU).
  at::Tensor in_steps(const at::Tensor& x) const;

  std::shared_ptr<Linear> fc1_, fc2_;
  double dropout_;
};

/// A pre-norm transformer block.
class Block : public torch::nn::Module {
 public:
  Block(int64_t dim, int64_t hidden, const AttentionSpec& spec, const attention::Geometry& geometry,
        const BlockRates& rates);
  at::Tensor forward(const at::Tensor& x);
  /// The mechanism's inputs for the block's input.
  attention::Inputs attention_inputs(const at::Tensor& x) { return attn_->inputs(norm1_->forward(x)); }
  const attention::MechanismPtr& mechanism() const { return attn_->mechanism(); }

 private:
  std::shared_ptr<LayerNorm> norm1_, norm2_;
  std::shared_ptr<SelfAttention> attn_;
  std::shared_ptr<Mlp> mlp_;
  double drop_path_;
};

/// timm's: linear weights N(0, 0.02), biases 0, norms 1 and 0. Its truncation at ±2 is a hundred deviations away.
void initialise_like_timm(torch::nn::Module& module);

}  // namespace fib::models
