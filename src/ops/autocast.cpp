// SPDX-License-Identifier: Apache-2.0
// Under autocast q, k and v may arrive in different types; the widest of them is taken. The kernels compute reduced types in
// float32 anyway, so nothing is narrowed here.
#include <torch/library.h>

#include "ops/dispatch.h"

namespace fib::ops {
namespace {

Call cast_bias(Call call, at::ScalarType type) {
  if (call.bias) call.bias = call.bias->to(type);
  return call;
}

template <c10::DispatchKey Key>
Outputs forward(const Operands& x, const Call& call) {
  const c10::impl::ExcludeDispatchKeyGuard guard(Key);
  const at::ScalarType type =
      c10::promoteTypes(c10::promoteTypes(x.q.scalar_type(), x.k.scalar_type()), x.v.scalar_type());
  return dispatch_forward({x.q.to(type), x.k.to(type), x.v.to(type)}, cast_bias(call, type));
}

template <c10::DispatchKey Key>
Outputs packed_forward(const at::Tensor& qkv, const Call& call) {
  const c10::impl::ExcludeDispatchKeyGuard guard(Key);
  return dispatch_packed_forward(qkv, cast_bias(call, qkv.scalar_type()));
}

template <c10::DispatchKey Key>
void register_for(torch::Library& m) {
  m.impl("support_attention", &forward_entry<&forward<Key>>);
  m.impl("support_attention_packed", &packed_forward_entry<&packed_forward<Key>>);
}

}  // namespace
}  // namespace fib::ops

TORCH_LIBRARY_IMPL(fibottention, AutocastCPU, m) { fib::ops::register_for<c10::DispatchKey::AutocastCPU>(m); }
TORCH_LIBRARY_IMPL(fibottention, AutocastCUDA, m) { fib::ops::register_for<c10::DispatchKey::AutocastCUDA>(m); }
