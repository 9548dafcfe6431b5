// SPDX-License-Identifier: Apache-2.0
// Mechanisms by name on the generic operator: any text of the registry, and the contract's attention by its parameters.
#pragma once

#include "ops/types.h"

namespace fib::ops {

/// The paper's mechanism by its parameters.
struct WythoffOptions {
  int64_t wmin, wmax;
  bool modified;
};

/// Throws torch's ValueError unless it is 'exclude' or 'zero'.
Masking parse_masking(const std::string& name);

/// The text of the registry for these parameters.
std::string wythoff_text(const WythoffOptions& options);

/// What every call of a mechanism by name takes besides its tensors; it has no support yet.
struct NamedArguments {
  NamedOptions where;
  OptionalTensor bias;
  Masking masking;
  Optional<double> scale;
  double dropout = 0.0;
};
Call named_call(const NamedArguments& arguments, const OptionalTensor& drawn_seed = nothing);

/// The call as kernels take it: with the support for these tensors, and with its seed.
Call resolved(const Call& call, const Operands& x);

at::Tensor named_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const NamedArguments& arguments);
at::Tensor named_attention_packed(const at::Tensor& qkv, const NamedArguments& arguments);

/// What a support is made from.
struct SupportKey {
  std::string attention;  ///< NAME or NAME:key=value,…
  int64_t patches, cls, heads;
  int64_t layer = -1;  ///< -1: no permutation, draw 0
  bool causal = false;
  friend bool operator==(const SupportKey&, const SupportKey&) = default;
};

/// Rebuilds nothing for a key it knows. Safe to call from any thread. The cache is bounded: the support that was used
/// longest ago makes room for a new one.
SupportPtr cached_support(const SupportKey& key);

}  // namespace fib::ops
