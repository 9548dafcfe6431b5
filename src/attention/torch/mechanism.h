// SPDX-License-Identifier: Apache-2.0
// One interface for every attention mechanism: q, k, v and perhaps a bias in, the heads side by side out.
//
//   auto attention = attention::make(AttentionSpec::parse("fibottention:wmin=5,wmax=65"), geometry);
//   at::Tensor out = attention->forward_packed(qkv);  // [B,T,3,H,d] -> [B,T,H·e]
//
// Windows, frames and the like are samples: a backbone folds them into B, and the mechanism knows of none of them.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "attention/registry.h"
#include "base/cancel.h"

namespace fib::attention {

/// Of any strides.
struct Inputs {
  at::Tensor q;     ///< [B,H,Tq,d]
  at::Tensor k;     ///< [B,H,Tk,d]
  at::Tensor v;     ///< [B,H,Tk,e]
  at::Tensor bias;  ///< added to the scores: undefined, or [G, H or 1, Tq, Tk]; G divides B, sample b uses b mod G
};

class Mechanism;

/// Computes in a mechanism's place: recording a graph, or fading from one mechanism to another.
class ForwardHook {
 public:
  virtual ~ForwardHook() = default;
  /// What Mechanism::forward is given, checked; returns [B,Tq,H·e].
  virtual at::Tensor forward(const Mechanism& asked, const Inputs& in) = 0;
  virtual at::Tensor forward_packed(const Mechanism& asked, const at::Tensor& qkv, const at::Tensor& bias) = 0;
};

class Mechanism : public torch::nn::Module {
 public:
  /// `dropout` acts on attention weights while training.
  Mechanism(AttentionSpec spec, const Geometry& geometry, double dropout);

  /// [B,Tq,H·e]. Throws std::invalid_argument where shapes disagree with the geometry.
  at::Tensor forward(const Inputs& in);
  /// The same on qkv as one linear layer leaves it, [B,T,3,H,d], for self-attention with d = e.
  at::Tensor forward_packed(const at::Tensor& qkv, const at::Tensor& bias = {});

  /// The weights that forward applies to the values, dense [B,H,Tq,Tk], computed anew and without dropout: memory T².
  at::Tensor probabilities(const Inputs& in);

  /// While it is set, what each forward is given is copied there (tensors share memory); null ends it.
  void show_inputs_to(Inputs* watcher) { watcher_ = watcher; }

  /// While it is set, forward calls it and computes nothing; null ends it.
  void set_forward_hook(ForwardHook* hook) { hook_ = hook; }
  /// Every forward throws Cancelled once that is asked for.
  void set_cancel(CancelToken cancel) { cancel_ = std::move(cancel); }

  /// Other numbers of tokens from now on. Throws where learned parameters belong to a number of tokens.
  void resize(const Grid& query_grid, const Grid& key_grid);
  /// The same where the channels of q and k follow the grids.
  void resize(const Grid& query_grid, const Grid& key_grid, int64_t head_dim);

  /// With the channels of q and k that the mechanism wants, which may differ from those asked for.
  const Geometry& geometry() const { return geometry_; }
  const AttentionSpec& spec() const { return spec_; }
  const MechanismInfo& info() const { return find_mechanism(spec_.name); }
  Cost cost() const { return attention::cost(spec_, geometry_); }

 protected:
  virtual at::Tensor attend(const Inputs& in) = 0;
  virtual at::Tensor attend_packed(const at::Tensor& qkv, const at::Tensor& bias);
  virtual at::Tensor weights(const Inputs& in) = 0;
  /// The geometry's grids have changed.
  virtual void regrid() {}

  double active_dropout() const { return is_training() ? dropout_ : 0.0; }

 private:
  void check_bias(const at::Tensor& bias, int64_t batch) const;

  AttentionSpec spec_;
  Geometry geometry_;
  std::string bias_refusal_;  // empty where it takes a bias
  double dropout_;
  Inputs* watcher_ = nullptr;
  ForwardHook* hook_ = nullptr;
  CancelToken cancel_;
};

using MechanismPtr = std::shared_ptr<Mechanism>;

/// Throws std::invalid_argument for an unknown name, a bad option or a geometry that the mechanism does not fit.
MechanismPtr make(const AttentionSpec& spec, const Geometry& geometry, double dropout = 0.0);

/// Three views [B,H,T,d] of a packed [B,T,3,H,d].
Inputs unpack(const at::Tensor& qkv, const at::Tensor& bias = {});

/// [B,H,T,e] -> [B,T,H·e], free where the memory is in that order already.
inline at::Tensor merge_heads(const at::Tensor& out) { return out.transpose(1, 2).flatten(2); }

/// Scaled scores and bias, dense [B,H,Tq,Tk].
at::Tensor dense_scores(const Inputs& in, double scale);

/// Over the last dimension; a row whose scores are all -inf gives zeros, not NaN.
at::Tensor softmax_or_zero(const at::Tensor& scores);

}  // namespace fib::attention
