// SPDX-License-Identifier: Apache-2.0
// Between the dispatcher's flat argument lists and our structs. The order of arguments is that of the schemas in
// registration.cpp; it is written down there and here, and nowhere else.
#pragma once

#include "ops/support_attention.h"
#include "ops/wythoff.h"

namespace fib::ops {

/// What backward needs of forward, and the gradient that arrives.
struct Results {
  at::Tensor grad_out, out, lse;
};

using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;  ///< dq, dk, dv, dbias or undefined
using WythoffGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;       ///< dq, dk, dv
using PackedGradients = std::tuple<at::Tensor, at::Tensor>;                    ///< dqkv, dbias or undefined

Call make_call(const SupportPtr& support, const SupportAttentionOptions& options);
/// The same call with a seed, so that backward can drop the same pairs.
Call with_seed(Call call);

/// Each calls its operator through the dispatcher, at whatever key stands next: that of a support, or that of the
/// mechanism's parameters.
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

#define FIB_WYTHOFF_PARAMETERS                                                                                     \
  int64_t wmin, int64_t wmax, bool modified, int64_t cls, bool causal, Optional<int64_t> layer, bool zero_masking, \
      Optional<double> scale, double dropout, const OptionalTensor &seed
#define FIB_WYTHOFF_CALL                                                                                           \
  wythoff_call(                                                                                                    \
      {wmin, wmax, modified, cls, causal, layer, zero_masking ? Masking::zero : Masking::exclude, scale, dropout}, \
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

// The same for calls without a support.
template <auto Implementation>
Outputs wythoff_forward_entry(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, FIB_WYTHOFF_PARAMETERS) {
  return Implementation(Operands{q, k, v}, FIB_WYTHOFF_CALL);
}

template <auto Implementation>
Outputs wythoff_packed_forward_entry(const at::Tensor& qkv, FIB_WYTHOFF_PARAMETERS) {
  return Implementation(qkv, FIB_WYTHOFF_CALL);
}

template <auto Implementation>
WythoffGradients wythoff_backward_entry(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k,
                                        const at::Tensor& v, const at::Tensor& out, const at::Tensor& lse,
                                        FIB_WYTHOFF_PARAMETERS) {
  const Gradients all = Implementation(Operands{q, k, v}, Results{grad_out, out, lse}, FIB_WYTHOFF_CALL, false);
  return {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
}

template <auto Implementation>
at::Tensor wythoff_packed_backward_entry(const at::Tensor& grad_out, const at::Tensor& qkv, const at::Tensor& out,
                                         const at::Tensor& lse, FIB_WYTHOFF_PARAMETERS) {
  return std::get<0>(Implementation(qkv, Results{grad_out, out, lse}, FIB_WYTHOFF_CALL, false));
}

}  // namespace fib::ops
