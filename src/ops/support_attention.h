// SPDX-License-Identifier: Apache-2.0
// Attention on a SupportSet as differentiable torch functions: what the modules above call.
//
// Shapes: q, k [B,H,T,d], v [B,H,T,e], packed qkv [B,T,3,H,d]. Any strides; a last dimension that is not contiguous is
// copied. Every call goes through torch's dispatcher, so autograd, autocast and other devices work as for torch's own.
#pragma once

#include "ops/types.h"

namespace fib::ops {

struct SupportAttentionOptions {
  Optional<double> scale;  ///< default 1/√d
  Masking masking = Masking::exclude;
  OptionalTensor bias;     ///< [G, H or 1, Tq, Tk], G divides B, sample b uses b mod G; differentiable
  OptionalTensor lengths;  ///< int64 [B]: tokens from lengths[b] on are padding
  double dropout = 0.0;    ///< on probabilities, in [0, 1); pass 0 when evaluating
  Optional<int64_t> seed;  ///< of the dropout; drawn from torch's generator when missing
};

/// The output [B,H,T,e] has q's order of dimensions in memory: head-major q gives head-major output, and a q that is a
/// view of [B,T,…,H,d] gives one whose transpose(1, 2).reshape({B, T, H * e}) is free.
at::Tensor support_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const SupportPtr& support,
                             const SupportAttentionOptions& options = {});

/// The same on qkv as one linear layer leaves it, [B,T,3,H,d]; gives [B,T,H·d]. Its backward writes one gradient
/// [B,T,3,H,d] in place, where three views of qkv would have theirs copied together: the way for self-attention.
at::Tensor support_attention_packed(const at::Tensor& qkv, const SupportPtr& support,
                                    const SupportAttentionOptions& options = {});

/// With the rows' log-sum-exp [B,H,T], from which maps can be recomputed; it has no gradient.
Outputs support_attention_with_lse(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                   const SupportPtr& support, const SupportAttentionOptions& options = {});
Outputs support_attention_packed_with_lse(const at::Tensor& qkv, const SupportPtr& support,
                                          const SupportAttentionOptions& options = {});

/// The same in ATen operations alone, for devices and types without a kernel; never makes a T × T tensor.
Outputs support_attention_composite(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const SupportPtr& support, const SupportAttentionOptions& options = {});

}  // namespace fib::ops
