// SPDX-License-Identifier: Apache-2.0
// The parts that backbones share, with timm's parameter names. Parameters are made unset: a model initializes or loads
// them, and a large one that does neither costs no memory.
//
// Letters: B samples, T tokens, D channels of a token, H heads, d channels of a query or key, e of a value.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <optional>

#include "attention/torch/mechanism.h"
#include "models/cost.h"
#include "ops/layers.h"

namespace fib::models {

class Linear : public torch::nn::Module {
 public:
  /// Without a bias, `bias` stays undefined.
  Linear(int64_t from, int64_t to, bool with_bias = true);
  at::Tensor forward(const at::Tensor& x) const { return ops::linear(x, weight, bias); }
  /// GELU of the same.
  at::Tensor forward_gelu(const at::Tensor& x) const { return ops::linear_gelu(x, weight, bias); }

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

/// Non-overlapping square patches, in reading order: [B,C,h,w] -> [B,N,D]. Its child `proj` holds the weights [D,C,p,p]
/// and biases of timm's convolution; as patches do not overlap, it is a linear map, and gives tokens without a copy.
class PatchEmbed : public torch::nn::Module {
 public:
  /// With a norm of the tokens where its eps is given.
  PatchEmbed(int64_t channels, int64_t dim, int64_t patch, std::optional<double> norm_eps = std::nullopt);
  at::Tensor forward(const at::Tensor& images) const;
  /// As torch initializes a convolution: uniform up to 1/√fan_in.
  void initialize();

 private:
  class Projection : public torch::nn::Module {
   public:
    Projection(int64_t channels, int64_t dim, int64_t patch);
    at::Tensor weight, bias;
  };
  std::shared_ptr<Projection> proj_;
  std::shared_ptr<LayerNorm> norm_;
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

/// Of block i of L: its branches are dropped with rate · i / (L - 1).
BlockRates rates_of(const Options& options, int64_t block, int64_t blocks);

/// What stands at the place of attention in a block: [B,T,D] -> [B,T,D].
class Mixer : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x) = 0;
};

struct SelfAttentionShape {
  int64_t dim = 0;
  bool qkv_bias = true;
};

/// Multi-head self-attention around a mechanism: qkv, mechanism, projection.
class SelfAttention : public Mixer {
 public:
  SelfAttention(const SelfAttentionShape& shape, const AttentionLayer& layer, const BlockRates& rates);
  at::Tensor forward(const at::Tensor& x) override { return attend(x, {}); }
  /// The mechanism's inputs for x [B,T,D].
  attention::Inputs inputs(const at::Tensor& x);
  /// What the heads give for x, side by side and before the projection: [B,T,H·e].
  at::Tensor heads(const at::Tensor& x) { return mixed(x, {}); }
  /// qkv [B,T,3,H,d] of x; of a mechanism whose q and k are as wide as v.
  at::Tensor packed(const at::Tensor& x);
  /// The block's branch, of what the heads give.
  at::Tensor projected(const at::Tensor& heads);
  Linear& projection() { return *proj_; }
  const attention::MechanismPtr& mechanism() const { return mechanism_; }
  /// Factors [d] of the channels of q, k and v, the same in all heads; undefined: none. Throws std::invalid_argument
  /// where the mechanism has q and k of another width than v.
  void set_mask(const at::Tensor& mask);

 protected:
  /// With a term for each pair, as the mechanism takes it.
  at::Tensor attend(const at::Tensor& x, const at::Tensor& bias);

 private:
  at::Tensor mixed(const at::Tensor& x, const at::Tensor& bias);

  std::shared_ptr<Linear> qkv_, proj_;
  attention::MechanismPtr mechanism_;
  double dropout_;
  at::Tensor mask_;
};

enum class Activation { gelu, quick_gelu };

struct MlpShape {
  int64_t dim = 0;
  int64_t hidden = 0;
  Activation activation = Activation::gelu;
};

class Mlp : public torch::nn::Module {
 public:
  Mlp(const MlpShape& shape, double dropout);
  at::Tensor forward(const at::Tensor& x);
  /// Factors [hidden] of what reaches the activation; undefined: none.
  void set_mask(const at::Tensor& mask) { mask_ = mask; }

 private:
  /// Without gradients: some rows at a time, so that the hidden activations stay in the cache and no memory is asked
  /// of the system for them (a fresh 50 MB cost 11 ms of page faults beside 3 ms of GELU).
  at::Tensor in_steps(const at::Tensor& x) const;
  at::Tensor activated_hidden(const at::Tensor& x) const;

  std::shared_ptr<Linear> fc1_, fc2_;
  Activation activation_;
  double dropout_;
  at::Tensor mask_;
};

/// What one forward of a block has seen, each [B,T,D] and in memory that nobody else writes to.
struct BlockView {
  at::Tensor input;   ///< kept only where a branch is asked for
  at::Tensor branch;  ///< of attention: what was added to the input; undefined unless asked for
  at::Tensor output;
};

/// A pre-norm transformer block around any mixer.
class Block : public torch::nn::Module {
 public:
  Block(const MlpShape& mlp, std::shared_ptr<Mixer> mixer, const BlockRates& rates, double eps = 1e-6);
  at::Tensor forward(const at::Tensor& x);
  /// The two branches, without the addition: attention sees the input, the MLP the sum of it and attention's branch.
  at::Tensor attention_branch(const at::Tensor& x) { return attn_->forward(norm1_->forward(x)); }
  at::Tensor mlp_branch(const at::Tensor& y) { return mlp_->forward(norm2_->forward(y)); }
  /// x and a branch, which is dropped now and then while training.
  at::Tensor with_branch(const at::Tensor& x, const at::Tensor& branch) const {
    return add_branch(x, drop_path(branch, drop_path_, is_training()));
  }
  /// What the mixer is given for x.
  at::Tensor mixer_input(const at::Tensor& x) const { return norm1_->forward(x); }

  Mixer& mixer() { return *attn_; }
  Mlp& mlp() { return *mlp_; }
  /// While it is set, each forward leaves its output there, and where `branches` says so the rest; null ends it.
  void show_to(BlockView* watcher, bool branches = false) {
    watcher_ = watcher;
    shows_branches_ = branches;
  }

 private:
  std::shared_ptr<LayerNorm> norm1_, norm2_;
  std::shared_ptr<Mixer> attn_;
  std::shared_ptr<Mlp> mlp_;
  double drop_path_;
  BlockView* watcher_ = nullptr;
  bool shows_branches_ = false;
};

/// timm's: linear weights N(0, 0.02), biases 0, norms 1 and 0. Its truncation at ±2 is a hundred deviations away.
void initialize_like_timm(torch::nn::Module& module);

// ---- Learned position embeddings on another grid of patches ---------------------------------------------------------

/// [1, cls + N, D] from one grid to another: bicubic over the patches, as timm does it; class tokens are kept.
at::Tensor resize_positions(const at::Tensor& positions, int64_t cls, const attention::Grid& from,
                            const attention::Grid& to);

/// The grid of a stored [1, cls + N, D]: `wanted` if it has as many tokens, else square. Throws std::invalid_argument
/// where N is no square.
attention::Grid stored_grid(const at::Tensor& positions, int64_t cls, const attention::Grid& wanted);

}  // namespace fib::models
