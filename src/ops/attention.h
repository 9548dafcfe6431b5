// SPDX-License-Identifier: Apache-2.0
// Attention on a set of pairs as a differentiable torch function: what the modules above call.
//
//   at::Tensor out = ops::attention({q, k, v}, {.pairs = {support}});  // q, k [B,H,T,d], v [B,H,T,e] -> [B,H,T,e]
//   at::Tensor out = ops::attention({qkv}, {.pairs = {support}});      // packed [B,T,3,H,d] -> [B,T,H·d]
//
// Any strides; a last dimension that is not contiguous is copied. Every call goes through torch's dispatcher, so
// autograd, autocast and other devices work as for torch's own operators.
#pragma once

#include <tuple>

#include "ops/support.h"

namespace fib::ops {

/// Which query meets which key: a support, or a mechanism by its text; with neither, all of them.
struct Pairs {
  SupportPtr support;
  /// Its support is made where the number of tokens is known. The operators of such a call take plain text and numbers,
  /// so that torch.compile can hold them in its graph.
  Optional<NamedSupport> named = {};
};

struct Arguments {
  Pairs pairs;
  OptionalTensor bias = {};     ///< [G, H or 1, Tq, Tk], G divides B, sample b uses b mod G; differentiable
  OptionalTensor lengths = {};  ///< int64 [B]: tokens from lengths[b] on are padding
  Optional<double> scale = {};  ///< default 1/√d
  Masking masking = Masking::exclude;
  double dropout = 0.0;      ///< on probabilities, in [0, 1); pass 0 when evaluating
  OptionalTensor seed = {};  ///< of the dropout, an int64 scalar; drawn from torch's generator when missing
};

/// Output and the rows' log-sum-exp [B,H,Tq], from which maps can be recomputed; the latter has no gradient.
using Outputs = std::tuple<at::Tensor, at::Tensor>;

/// x is {q, k, v} or a packed {qkv}, whose gradient is written in place, where those of three views would be copied
/// together. An output [B,H,T,e] has q's order of dimensions in memory: head-major q gives head-major output, and a q
/// that is a view of [B,T,…,H,d] gives one whose transpose(1, 2).reshape({B, T, H * e}) is free.
at::Tensor attention(at::TensorList x, const Arguments& arguments);
Outputs attention_with_lse(at::TensorList x, const Arguments& arguments);

/// The same in ATen operations alone, for devices and types without a kernel; torch differentiates it. No T × T tensor
/// is made: extra memory is one number per pair and, for explicit pairs, their keys and values.
Outputs composite_attention(at::TensorList x, const Arguments& arguments);

/// Whether attention over all pairs has a kernel for this tensor's device and type; others are left to torch.
bool has_dense_kernel(const at::Tensor& q);

}  // namespace fib::ops
