// SPDX-License-Identifier: Apache-2.0
#include "ops/dispatch.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <limits>
#include <mutex>

namespace fib::ops {
namespace {

template <class Signature>
auto find_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

int64_t draw_seed() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  return static_cast<int64_t>(at::check_generator<at::CPUGeneratorImpl>(generator)->random64());
}

}  // namespace

#define FIB_CALL_ARGUMENTS \
  call.support, call.bias, call.lengths, call.scale, call.masking == Masking::zero, call.dropout, call.seed

#define FIB_NAMED_ARGUMENTS                                                                 \
  call.named->attention, call.named->cls, call.named->causal, call.named->layer, call.bias, \
      call.masking == Masking::zero, call.scale, call.dropout, call.drawn_seed

namespace {

at::Tensor if_asked_for(bool asked, const at::Tensor& gradient) { return asked ? gradient : at::Tensor(); }

Outputs dispatch_named_forward(const Operands& x, const Call& call) {
  using Signature = Outputs(const at::Tensor&, const at::Tensor&, const at::Tensor&, FIB_NAMED_PARAMETERS);
  static const auto op = find_operator<Signature>("fibottention::attention_forward");
  return op.call(x.q, x.k, x.v, FIB_NAMED_ARGUMENTS);
}

Outputs dispatch_named_packed_forward(const at::Tensor& qkv, const Call& call) {
  using Signature = Outputs(const at::Tensor&, FIB_NAMED_PARAMETERS);
  static const auto op = find_operator<Signature>("fibottention::attention_packed_forward");
  return op.call(qkv, FIB_NAMED_ARGUMENTS);
}

Gradients dispatch_named_backward(const Operands& x, const Results& r, const Call& call, bool bias_grad) {
  using Signature = Gradients(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                              const at::Tensor&, const at::Tensor&, FIB_NAMED_PARAMETERS, bool);
  static const auto op = find_operator<Signature>("fibottention::attention_backward");
  const auto [dq, dk, dv, dbias] = op.call(r.grad_out, x.q, x.k, x.v, r.out, r.lse, FIB_NAMED_ARGUMENTS, bias_grad);
  return {dq, dk, dv, if_asked_for(bias_grad, dbias)};
}

PackedGradients dispatch_named_packed_backward(const at::Tensor& qkv, const Results& r, const Call& call,
                                               bool bias_grad) {
  using Signature = PackedGradients(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                    FIB_NAMED_PARAMETERS, bool);
  static const auto op = find_operator<Signature>("fibottention::attention_packed_backward");
  const auto [dqkv, dbias] = op.call(r.grad_out, qkv, r.out, r.lse, FIB_NAMED_ARGUMENTS, bias_grad);
  return {dqkv, if_asked_for(bias_grad, dbias)};
}

}  // namespace

Outputs dispatch_forward(const Operands& x, const Call& call) {
  if (call.named) return dispatch_named_forward(x, call);
  using Signature = Outputs(const at::Tensor&, const at::Tensor&, const at::Tensor&, FIB_CALL_PARAMETERS);
  static const auto op = find_operator<Signature>("fibottention::support_attention");
  return op.call(x.q, x.k, x.v, FIB_CALL_ARGUMENTS);
}

Outputs dispatch_packed_forward(const at::Tensor& qkv, const Call& call) {
  if (call.named) return dispatch_named_packed_forward(qkv, call);
  using Signature = Outputs(const at::Tensor&, FIB_CALL_PARAMETERS);
  static const auto op = find_operator<Signature>("fibottention::support_attention_packed");
  return op.call(qkv, FIB_CALL_ARGUMENTS);
}

Gradients dispatch_backward(const Operands& x, const Results& r, const Call& call, bool bias_grad) {
  if (call.named) return dispatch_named_backward(x, r, call, bias_grad);
  using Signature = Gradients(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                              const at::Tensor&, const at::Tensor&, FIB_CALL_PARAMETERS, bool);
  static const auto op = find_operator<Signature>("fibottention::support_attention_backward");
  return op.call(r.grad_out, x.q, x.k, x.v, r.out, r.lse, FIB_CALL_ARGUMENTS, bias_grad);
}

PackedGradients dispatch_packed_backward(const at::Tensor& qkv, const Results& r, const Call& call, bool bias_grad) {
  if (call.named) return dispatch_named_packed_backward(qkv, r, call, bias_grad);
  using Signature = PackedGradients(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                    FIB_CALL_PARAMETERS, bool);
  static const auto op = find_operator<Signature>("fibottention::support_attention_packed_backward");
  return op.call(r.grad_out, qkv, r.out, r.lse, FIB_CALL_ARGUMENTS, bias_grad);
}

Call make_call(const SupportPtr& support, const SupportAttentionOptions& options) {
  return {support, options.bias, options.lengths, options.scale, options.masking, options.dropout, options.seed};
}

Call with_seed(Call call) {
  if (call.dropout <= 0.0 || call.seed || call.drawn_seed) return call;
  if (call.named) {
    call.drawn_seed = at::randint(std::numeric_limits<int64_t>::max(), {}, at::kLong);
  } else {
    call.seed = draw_seed();
  }
  return call;
}

Outputs support_attention_with_lse(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                   const SupportPtr& support, const SupportAttentionOptions& options) {
  return dispatch_forward({q, k, v}, make_call(support, options));
}

Outputs support_attention_packed_with_lse(const at::Tensor& qkv, const SupportPtr& support,
                                          const SupportAttentionOptions& options) {
  return dispatch_packed_forward(qkv, make_call(support, options));
}

at::Tensor support_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const SupportPtr& support,
                             const SupportAttentionOptions& options) {
  return std::get<0>(support_attention_with_lse(q, k, v, support, options));
}

at::Tensor support_attention_packed(const at::Tensor& qkv, const SupportPtr& support,
                                    const SupportAttentionOptions& options) {
  return std::get<0>(support_attention_packed_with_lse(qkv, support, options));
}

}  // namespace fib::ops
