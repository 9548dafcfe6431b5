// SPDX-License-Identifier: Apache-2.0
// fibottention::attention: the paper's mechanism by its parameters, on the generic operator.
#pragma once

#include "ops/types.h"

namespace fib::ops {

/// A call without a support yet.
Call wythoff_call(const WythoffOptions& options, const OptionalTensor& drawn_seed = nothing);
/// The call as kernels take it: with the support for these tensors, and with its seed.
Call resolved(const Call& call, const Operands& x);

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const WythoffOptions& options);
at::Tensor attention_packed(const at::Tensor& qkv, const WythoffOptions& options);

/// What a support of the mechanism is made from.
struct WythoffKey {
  int64_t patches, cls, heads, wmin, wmax;
  int64_t layer;  ///< -1: no permutation
  bool modified, causal;
  friend bool operator==(const WythoffKey&, const WythoffKey&) = default;
};

/// Rebuilds nothing for a key it knows. Safe to call from any thread. The cache is bounded: the support that was used
/// longest ago makes room for a new one.
SupportPtr cached_wythoff_support(const WythoffKey& key);

}  // namespace fib::ops
