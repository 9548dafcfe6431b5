// SPDX-License-Identifier: Apache-2.0
// Under autocast q, k and v may arrive in different types; the widest of them is taken. The kernels compute reduced
// types in float32 anyway, so nothing is narrowed here.

#include "ops/implementations.h"

namespace fib::ops::autocast {
namespace {

Call cast_bias(Call call, at::ScalarType type) {
  if (call.bias) call.bias = call.bias->to(type);
  return call;
}

}  // namespace

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

template Outputs forward<c10::DispatchKey::AutocastCPU>(const Operands&, const Call&);
template Outputs forward<c10::DispatchKey::AutocastCUDA>(const Operands&, const Call&);
template Outputs packed_forward<c10::DispatchKey::AutocastCPU>(const at::Tensor&, const Call&);
template Outputs packed_forward<c10::DispatchKey::AutocastCUDA>(const at::Tensor&, const Call&);

}  // namespace fib::ops::autocast
