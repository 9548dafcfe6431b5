// SPDX-License-Identifier: Apache-2.0
// Shapes, types and strides without data: the operators on torch's meta device.
#include <torch/library.h>

#include "ops/checks.h"
#include "ops/dispatch.h"
#include "ops/layout.h"

namespace fib::ops {
namespace {

Outputs forward(const Operands& x, const Call& call) {
  check_call(x, call);
  return empty_outputs(x);
}

Outputs packed_forward(const at::Tensor& qkv, const Call& call) {
  check_packed(qkv);
  const auto [out, lse] = forward(unpacked(qkv), call);
  return {merged_heads(out), lse};
}

at::Tensor empty_bias_gradient(const Call& call, bool bias_grad) {
  return bias_grad && call.bias ? at::empty_like(*call.bias) : at::Tensor();
}

Gradients backward(const Operands& x, const Results&, const Call& call, bool bias_grad) {
  return {empty_tokens(x.q, x.q.size(2), x.q.size(3)), empty_tokens(x.k, x.k.size(2), x.k.size(3)),
          empty_tokens(x.v, x.v.size(2), x.v.size(3)), empty_bias_gradient(call, bias_grad)};
}

PackedGradients packed_backward(const at::Tensor& qkv, const Results&, const Call& call, bool bias_grad) {
  return {at::empty(qkv.sizes(), qkv.options()), empty_bias_gradient(call, bias_grad)};
}

}  // namespace
}  // namespace fib::ops

TORCH_LIBRARY_IMPL(fibottention, Meta, m) {
  using namespace fib::ops;
  m.impl("support_attention", &forward_entry<&forward>);
  m.impl("support_attention_packed", &packed_forward_entry<&packed_forward>);
  m.impl("support_attention_backward", &backward_entry<&backward>);
  m.impl("support_attention_packed_backward", &packed_backward_entry<&packed_backward>);
}
