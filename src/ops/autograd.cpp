// SPDX-License-Identifier: Apache-2.0
// Derivatives of the operators. Where a kernel exists its backward is used; elsewhere the composite path is
// differentiated by torch itself.
#include <torch/csrc/autograd/custom_function.h>

#include "ops/checks.h"
#include "ops/dispatch.h"
#include "ops/layout.h"

namespace fib::ops::autograd {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SavedCall : torch::CustomClassHolder {
  SavedCall(Call c, bool bias_gradient) : call(std::move(c)), bias_grad(bias_gradient) {}
  Call call;
  bool bias_grad;
};

at::Tensor or_undefined(const OptionalTensor& x) { return x ? *x : at::Tensor(); }

OptionalTensor or_nothing(const at::Tensor& x) { return x.defined() ? OptionalTensor(x) : nothing; }

/// Tensors go through save_for_backward, so that torch notices when one is changed in place; the rest travels as it is.
void save_call(AutogradContext* ctx, variable_list tensors, Call call) {
  const bool bias_grad = call.bias && call.bias->requires_grad();
  tensors.push_back(or_undefined(call.bias));
  tensors.push_back(or_undefined(call.lengths));
  tensors.push_back(or_undefined(call.drawn_seed));
  call.bias = nothing;
  call.lengths = nothing;
  call.drawn_seed = nothing;
  ctx->save_for_backward(std::move(tensors));
  ctx->saved_data["call"] = c10::IValue::make_capsule(c10::make_intrusive<SavedCall>(std::move(call), bias_grad));
  ctx->set_materialize_grads(false);
}

/// Removes what save_call added from the end of the saved tensors.
SavedCall restore_call(AutogradContext* ctx, variable_list& tensors) {
  SavedCall saved = *c10::static_intrusive_pointer_cast<SavedCall>(ctx->saved_data["call"].toCapsule());
  saved.call.drawn_seed = or_nothing(tensors.back());
  tensors.pop_back();
  saved.call.lengths = or_nothing(tensors.back());
  tensors.pop_back();
  saved.call.bias = or_nothing(tensors.back());
  tensors.pop_back();
  return saved;
}

class SupportAttention : public torch::autograd::Function<SupportAttention> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const OptionalTensor&, const Call& call) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    auto [out, lse] = dispatch_forward({q, k, v}, call);
    save_call(ctx, {q, k, v, out, lse}, call);
    ctx->mark_non_differentiable({lse});
    return {out, lse};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    if (!grads[0].defined()) return variable_list(5);
    variable_list saved = ctx->get_saved_variables();
    const SavedCall s = restore_call(ctx, saved);
    auto [dq, dk, dv, dbias] =
        dispatch_backward({saved[0], saved[1], saved[2]}, {grads[0], saved[3], saved[4]}, s.call, s.bias_grad);
    return {dq, dk, dv, dbias, at::Tensor()};
  }
};

class PackedAttention : public torch::autograd::Function<PackedAttention> {
 public:
  static variable_list forward(AutogradContext* ctx, const at::Tensor& qkv, const OptionalTensor&, const Call& call) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    auto [out, lse] = dispatch_packed_forward(qkv, call);
    save_call(ctx, {qkv, out, lse}, call);
    ctx->mark_non_differentiable({lse});
    return {out, lse};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    if (!grads[0].defined()) return variable_list(3);
    variable_list saved = ctx->get_saved_variables();
    const SavedCall s = restore_call(ctx, saved);
    auto [dqkv, dbias] = dispatch_packed_backward(saved[0], {grads[0], saved[1], saved[2]}, s.call, s.bias_grad);
    return {dqkv, dbias, at::Tensor()};
  }
};

/// Passes gradients on and refuses to be differentiated: what was computed below torch's eyes would count as constant.
class NoSecondDerivative : public torch::autograd::Function<NoSecondDerivative> {
 public:
  static variable_list forward(AutogradContext*, at::TensorList, const std::vector<at::Tensor>& gradients) {
    return gradients;
  }
  static variable_list backward(AutogradContext*, const variable_list&) {
    TORCH_CHECK(false, "fibottention::support_attention has no second derivative (double backward)");
  }
};

bool requires_grad(std::initializer_list<at::Tensor> tensors) {
  if (!at::GradMode::is_enabled()) return false;
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const at::Tensor& t) { return t.defined() && t.requires_grad(); });
}

bool has_kernel(const at::Tensor& x) { return x.device().is_cpu() || x.device().is_meta(); }

/// Types that are cast here and not below, so that torch differentiates the casts.
bool is_cast_here(const at::Tensor& x) { return x.device().is_cpu() && is_reduced(x.scalar_type()); }

Call cast_bias(Call call) {
  if (call.bias) call.bias = call.bias->to(at::kFloat);
  return call;
}

/// Hands the gradients on; where a graph of backward is asked for, with a node that refuses to be differentiated.
variable_list sealed(std::vector<at::Tensor> gradients, at::TensorList sources) {
  const bool bias = gradients.back().defined();
  if (!bias) gradients.pop_back();
  variable_list result = NoSecondDerivative::apply(sources, gradients);
  if (!bias) result.emplace_back();
  return result;
}

}  // namespace

Outputs forward(const Operands& x, const Call& call) {
  if (!has_kernel(x.q)) return composite::forward(x, call);
  if (!requires_grad({x.q, x.k, x.v, or_undefined(call.bias)})) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return dispatch_forward(x, call);
  }
  if (is_cast_here(x.q)) {
    const auto [out, lse] = forward({x.q.to(at::kFloat), x.k.to(at::kFloat), x.v.to(at::kFloat)}, cast_bias(call));
    return {out.to(x.q.scalar_type()), lse};
  }
  const variable_list results = SupportAttention::apply(x.q, x.k, x.v, call.bias, with_seed(call));
  return {results[0], results[1]};
}

Outputs packed_forward(const at::Tensor& qkv, const Call& call) {
  if (!has_kernel(qkv)) return composite::packed_forward(qkv, call);
  if (!requires_grad({qkv, or_undefined(call.bias)})) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return dispatch_packed_forward(qkv, call);
  }
  if (is_cast_here(qkv)) {
    const auto [out, lse] = packed_forward(qkv.to(at::kFloat), cast_bias(call));
    return {out.to(qkv.scalar_type()), lse};
  }
  const variable_list results = PackedAttention::apply(qkv, call.bias, with_seed(call));
  return {results[0], results[1]};
}

Gradients backward(const Operands& x, const Results& r, const Call& call, bool bias_grad) {
  Gradients gradients;
  {
    const at::AutoDispatchBelowADInplaceOrView guard;
    gradients = dispatch_backward(x, r, call, bias_grad);
  }
  if (!requires_grad({r.grad_out, x.q, x.k, x.v, or_undefined(call.bias)})) return gradients;
  const auto& [dq, dk, dv, dbias] = gradients;
  const variable_list g = sealed({dq, dk, dv, dbias}, {r.grad_out, x.q, x.k, x.v});
  return {g[0], g[1], g[2], g[3]};
}

PackedGradients packed_backward(const at::Tensor& qkv, const Results& r, const Call& call, bool bias_grad) {
  PackedGradients gradients;
  {
    const at::AutoDispatchBelowADInplaceOrView guard;
    gradients = dispatch_packed_backward(qkv, r, call, bias_grad);
  }
  if (!requires_grad({r.grad_out, qkv, or_undefined(call.bias)})) return gradients;
  const auto& [dqkv, dbias] = gradients;
  const variable_list g = sealed({dqkv, dbias}, {r.grad_out, qkv});
  return {g[0], g[1]};
}

}  // namespace fib::ops::autograd
