// SPDX-License-Identifier: Apache-2.0
// Shapes, types and strides without data: the operators on torch's meta device.

#include "ops/checks.h"
#include "ops/implementations.h"
#include "ops/layout.h"

namespace fib::ops::meta {
namespace {

at::Tensor empty_bias_gradient(const Call& call, bool bias_grad) {
  return bias_grad && call.bias ? at::empty_like(*call.bias) : at::Tensor();
}

}  // namespace

Outputs forward(const Operands& x, const Call& call) {
  check_call(x, call);
  return empty_outputs(x);
}

Outputs packed_forward(const at::Tensor& qkv, const Call& call) {
  check_packed(qkv);
  const auto [out, lse] = forward(unpacked(qkv), call);
  return {merged_heads(out), lse};
}

Gradients backward(const Operands& x, const Results&, const Call& call, bool bias_grad) {
  return {empty_tokens(x.q, x.q.size(2), x.q.size(3)), empty_tokens(x.k, x.k.size(2), x.k.size(3)),
          empty_tokens(x.v, x.v.size(2), x.v.size(3)), empty_bias_gradient(call, bias_grad)};
}

PackedGradients packed_backward(const at::Tensor& qkv, const Results&, const Call& call, bool bias_grad) {
  return {at::empty(qkv.sizes(), qkv.options()), empty_bias_gradient(call, bias_grad)};
}

}  // namespace fib::ops::meta
