// SPDX-License-Identifier: Apache-2.0
// Dense attention by the tiled kernel as differentiable torch functions, on the CPU in float32 and float64.
#pragma once

#include "ops/types.h"

namespace fib::ops {

struct DenseAttentionOptions {
  Optional<double> scale;  ///< default 1/√d
  OptionalTensor bias;     ///< [G, H or 1, Tq, Tk], G divides B, sample b uses b mod G; differentiable
  double dropout = 0.0;    ///< on probabilities, in [0, 1); pass 0 when evaluating
  Optional<int64_t> seed;  ///< of the dropout; drawn from torch's generator when missing
};

/// Whether the kernel serves this tensor's device and type; others are left to torch's own operations.
bool has_dense_kernel(const at::Tensor& q);

/// q [B,H,Tq,d], k [B,H,Tk,d], v [B,H,Tk,e] -> [B,H,Tq,e] in q's order of dimensions in memory. Scores are never
/// stored; backward computes them again.
at::Tensor dense_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const DenseAttentionOptions& options = {});

/// The same on qkv as one linear layer leaves it, [B,T,3,H,d]; gives [B,T,H·d].
at::Tensor dense_attention_packed(const at::Tensor& qkv, const DenseAttentionOptions& options = {});

}  // namespace fib::ops
