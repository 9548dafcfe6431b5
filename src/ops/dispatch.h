// SPDX-License-Identifier: Apache-2.0
// Between the dispatcher's flat argument lists and our structs. The order of arguments is that of the schemas in
// registration.cpp; it is written down there and here, and nowhere else.
#pragma once

#include "ops/named.h"
#include "ops/support_attention.h"

namespace fib::ops {

/// What backward needs of forward, and the gradient that arrives.
struct Results {
  at::Tensor grad_out, out, lse;
};

using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;  ///< dq, dk, dv, dbias or undefined
using PackedGradients = std::tuple<at::Tensor, at::Tensor>;                    ///< dqkv, dbias or undefined

Call make_call(const SupportPtr& support, const SupportAttentionOptions& options);
/// The same call with a seed, so that backward can drop the same pairs.
Call with_seed(Call call);

/// Each calls its operator through the dispatcher, at whatever key stands next: that of a support, or that of the
/// mechanism's name.
Outputs dispatch_forward(const Operands& x, const Call& call);
Outputs dispatch_packed_forward(const at::Tensor& qkv, const Call& call);
Gradients dispatch_backward(const Operands& x, const Results& results, const Call& call, bool bias_grad);
PackedGradients dispatch_packed_backward(const at::Tensor& qkv, const Results& results, const Call& call,
                                         bool bias_grad);

// What registration.cpp gives to the dispatcher beside what is its own.
namespace cpu {
Outputs forward(const Operands& x, const Call& call);
Outputs packed_forward(const at::Tensor& qkv, const Call& call);
Gradients backward(const Operands& x, const Results& results, const Call& call, bool bias_grad);
PackedGradients packed_backward(const at::Tensor& qkv, const Results& results, const Call& call, bool bias_grad);

/// By the tiled kernel, in float32 and float64; defined with dense attention.
Outputs dense_forward(const Operands& x, const Call& call);
/// Overwrites the gradients `into`; returns that of the bias, undefined unless asked for.
at::Tensor dense_backward_into(const Operands& into, const Operands& x, const Results& results, const Call& call,
                               bool bias_grad);
}  // namespace cpu

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

#define FIB_CALL_PARAMETERS                                                                                     \
  const SupportPtr &support, const OptionalTensor &bias, const OptionalTensor &lengths, Optional<double> scale, \
      bool zero_masking, double dropout, Optional<int64_t> seed
#define FIB_CALL \
  Call { support, bias, lengths, scale, zero_masking ? Masking::zero : Masking::exclude, dropout, seed }

#define FIB_NAMED_PARAMETERS                                                                                   \
  const std::string &attention, int64_t cls, bool causal, Optional<int64_t> layer, const OptionalTensor &bias, \
      bool zero_masking, Optional<double> scale, double dropout, const OptionalTensor &seed
#define FIB_NAMED_CALL                                                                                                 \
  named_call({{attention, cls, causal, layer}, bias, zero_masking ? Masking::zero : Masking::exclude, scale, dropout}, \
             seed)

// Entries for TORCH_LIBRARY_IMPL: flat arguments in, the implementation called with structs.
template <auto Implementation>
Outputs forward_entry(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, FIB_CALL_PARAMETERS) {
  return Implementation(Operands{q, k, v}, FIB_CALL);
}

template <auto Implementation>
Outputs packed_forward_entry(const at::Tensor& qkv, FIB_CALL_PARAMETERS) {
  return Implementation(qkv, FIB_CALL);
}

template <auto Implementation>
Gradients backward_entry(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const at::Tensor& out, const at::Tensor& lse, FIB_CALL_PARAMETERS, bool bias_grad) {
  return Implementation(Operands{q, k, v}, Results{grad_out, out, lse}, FIB_CALL, bias_grad);
}

template <auto Implementation>
PackedGradients packed_backward_entry(const at::Tensor& grad_out, const at::Tensor& qkv, const at::Tensor& out,
                                      const at::Tensor& lse, FIB_CALL_PARAMETERS, bool bias_grad) {
  return Implementation(qkv, Results{grad_out, out, lse}, FIB_CALL, bias_grad);
}

// The same for calls by name. A gradient that nobody asked for is empty and not undefined: graphs know no undefined
// tensors.
inline at::Tensor or_empty(const at::Tensor& gradient, const at::Tensor& like) {
  return gradient.defined() ? gradient : at::empty({0}, like.options());
}

template <auto Implementation>
Outputs named_forward_entry(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, FIB_NAMED_PARAMETERS) {
  return Implementation(Operands{q, k, v}, FIB_NAMED_CALL);
}

template <auto Implementation>
Outputs named_packed_forward_entry(const at::Tensor& qkv, FIB_NAMED_PARAMETERS) {
  return Implementation(qkv, FIB_NAMED_CALL);
}

template <auto Implementation>
Gradients named_backward_entry(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, const at::Tensor& out, const at::Tensor& lse, FIB_NAMED_PARAMETERS,
                               bool bias_grad) {
  const auto [dq, dk, dv, dbias] =
      Implementation(Operands{q, k, v}, Results{grad_out, out, lse}, FIB_NAMED_CALL, bias_grad);
  return {dq, dk, dv, or_empty(dbias, q)};
}

template <auto Implementation>
PackedGradients named_packed_backward_entry(const at::Tensor& grad_out, const at::Tensor& qkv, const at::Tensor& out,
                                            const at::Tensor& lse, FIB_NAMED_PARAMETERS, bool bias_grad) {
  const auto [dqkv, dbias] = Implementation(qkv, Results{grad_out, out, lse}, FIB_NAMED_CALL, bias_grad);
  return {dqkv, or_empty(dbias, qkv)};
}

}  // namespace fib::ops
