// SPDX-License-Identifier: Apache-2.0
// The makers that attention::make chooses from, one file each, and what they share.
#pragma once

#include "attention/torch/mechanism.h"

namespace fib::attention {

MechanismPtr make_full(const AttentionSpec& spec, const Geometry& geometry, double dropout);
MechanismPtr make_support_attention(const AttentionSpec& spec, const Geometry& geometry, double dropout);
MechanismPtr make_topk(const AttentionSpec& spec, const Geometry& geometry, double dropout);
MechanismPtr make_linformer(const AttentionSpec& spec, const Geometry& geometry, double dropout);
MechanismPtr make_efficient(const AttentionSpec& spec, const Geometry& geometry, double dropout);

/// [B,H,T,e] -> [B,T,H·e], free where the memory is in that order already.
inline at::Tensor merge_heads(const at::Tensor& out) { return out.transpose(1, 2).flatten(2); }

/// Scaled scores and bias, dense [B,H,Tq,Tk].
at::Tensor dense_scores(const Inputs& in, double scale);

/// Over the last dimension; a row whose scores are all -inf gives zeros, not NaN.
at::Tensor softmax_or_zero(const at::Tensor& scores);

/// Scores that a backbone adds per pair, or weights to drop, are refused by mechanisms that have no such pairs.
void refuse_bias(const Mechanism& mechanism, const at::Tensor& bias, const char* reason);

}  // namespace fib::attention
