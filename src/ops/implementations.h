// SPDX-License-Identifier: Apache-2.0
// What registration.cpp hands to the dispatcher: the same four functions for every key that has its own.
#pragma once

#include "ops/dispatch.h"

namespace fib::ops {

namespace cpu {
Outputs forward(const Operands& x, const Call& call);
Outputs packed_forward(const at::Tensor& qkv, const Call& call);
Gradients backward(const Operands& x, const Results& results, const Call& call, bool bias_grad);
PackedGradients packed_backward(const at::Tensor& qkv, const Results& results, const Call& call, bool bias_grad);
}  // namespace cpu

namespace meta {
Outputs forward(const Operands& x, const Call& call);
Outputs packed_forward(const at::Tensor& qkv, const Call& call);
Gradients backward(const Operands& x, const Results& results, const Call& call, bool bias_grad);
PackedGradients packed_backward(const at::Tensor& qkv, const Results& results, const Call& call, bool bias_grad);
}  // namespace meta

namespace autograd {
Outputs forward(const Operands& x, const Call& call);
Outputs packed_forward(const at::Tensor& qkv, const Call& call);
Gradients backward(const Operands& x, const Results& results, const Call& call, bool bias_grad);
PackedGradients packed_backward(const at::Tensor& qkv, const Results& results, const Call& call, bool bias_grad);
}  // namespace autograd

/// In ATen operations alone, for devices and types without a kernel; torch differentiates it. No T × T tensor is made:
/// extra memory is one number per pair and, for explicit pairs, their keys and values.
namespace composite {
Outputs forward(const Operands& x, const Call& call);
Outputs packed_forward(const at::Tensor& qkv, const Call& call);
}  // namespace composite

namespace autocast {
template <c10::DispatchKey Key>
Outputs forward(const Operands& x, const Call& call);
template <c10::DispatchKey Key>
Outputs packed_forward(const at::Tensor& qkv, const Call& call);
}  // namespace autocast

/// The parameters of the paper's mechanism.
struct Wythoff {
  int64_t wmin, wmax;
  bool modified;
  int64_t cls;
  bool causal;
  Optional<int64_t> layer;
  std::string masking;
  Optional<double> scale;
  double dropout = 0.0;
};

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Wythoff& parameters);
at::Tensor attention_packed(const at::Tensor& qkv, const Wythoff& parameters);

}  // namespace fib::ops
