// SPDX-License-Identifier: Apache-2.0
// The operator's functions, one pair for each way torch's dispatcher may take. operator.cpp registers them.
#pragma once

#include "ops/tensors.h"

namespace fib::ops {

/// What backward needs of forward, and the gradient that arrives.
struct Results {
  at::Tensor grad_out, out, lse;
};

/// Those of x, {dq, dk, dv} or {dqkv}, then that of the bias, undefined unless asked for.
using Gradients = std::vector<at::Tensor>;

/// Each calls the operator through the dispatcher, at whatever key stands next.
Outputs dispatch_forward(at::TensorList x, const Arguments& a);
Gradients dispatch_backward(at::TensorList x, const Results& r, const Arguments& a, bool bias_grad);

/// By the kernels, in float32 and float64; reduced types pass through float32.
Outputs cpu_forward(at::TensorList x, const Arguments& a);
Gradients cpu_backward(at::TensorList x, const Results& r, const Arguments& a, bool bias_grad);

/// Where a kernel exists its backward is used; elsewhere torch differentiates the composite.
Outputs autograd_forward(at::TensorList x, const Arguments& a);
Gradients autograd_backward(at::TensorList x, const Results& r, const Arguments& a, bool bias_grad);

/// The support of these tensors; null for all pairs, which the dense kernel needs no list of.
SupportPtr support_of(const Arguments& a, const Operands& x);
/// The same where a list is needed.
SupportPtr require_support(const Arguments& a, const Operands& x);

/// The same arguments with a seed, so that backward can drop the same pairs.
Arguments with_seed(Arguments a);
/// 0 where there is none.
inline int64_t seed_of(const Arguments& a) { return a.seed ? a.seed->item<int64_t>() : 0; }

inline Arguments with_bias_of(Arguments a, at::ScalarType type) {
  if (a.bias) a.bias = a.bias->to(type);
  return a;
}

inline std::vector<at::Tensor> cast(at::TensorList x, at::ScalarType type) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& t : x) all.push_back(t.to(type));
  return all;
}

/// The output as the operator gives it: [B,H,T,e], or [B,T,H·e] of a packed x.
inline at::Tensor laid_out_as(at::TensorList x, const at::Tensor& out) {
  return x.size() == 1 ? merged_heads(out) : out;
}

}  // namespace fib::ops
