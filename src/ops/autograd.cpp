// SPDX-License-Identifier: Apache-2.0
#include <torch/csrc/autograd/custom_function.h>

#include "ops/operator.h"

namespace fib::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SavedArguments : torch::CustomClassHolder {
  SavedArguments(Arguments a, bool wants_bias) : arguments(std::move(a)), bias_grad(wants_bias) {}
  Arguments arguments;
  bool bias_grad;
};

at::Tensor or_undefined(const OptionalTensor& x) { return x ? *x : at::Tensor(); }

/// Tensors go through save_for_backward, so that torch notices when one is changed in place; the rest travels as it is.
void save(AutogradContext* ctx, variable_list tensors, Arguments a) {
  const bool bias_grad = a.bias && a.bias->requires_grad();
  for (OptionalTensor* t : {&a.bias, &a.lengths, &a.seed}) {
    tensors.push_back(or_undefined(*t));
    *t = nothing;
  }
  ctx->save_for_backward(std::move(tensors));
  ctx->saved_data["arguments"] =
      c10::IValue::make_capsule(c10::make_intrusive<SavedArguments>(std::move(a), bias_grad));
  ctx->set_materialize_grads(false);
}

/// Removes what save added from the end of the saved tensors.
SavedArguments restore(AutogradContext* ctx, variable_list& tensors) {
  SavedArguments saved = *c10::static_intrusive_pointer_cast<SavedArguments>(ctx->saved_data["arguments"].toCapsule());
  Arguments& a = saved.arguments;
  for (OptionalTensor* t : {&a.seed, &a.lengths, &a.bias}) {
    *t = if_defined(tensors.back());
    tensors.pop_back();
  }
  return saved;
}

/// Saved: x, out, lse.
class Attention : public torch::autograd::Function<Attention> {
 public:
  static variable_list forward(AutogradContext* ctx, at::TensorList x, const OptionalTensor&, const Arguments& a) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    const auto [out, lse] = dispatch_forward(x, a);
    variable_list tensors = x.vec();
    tensors.insert(tensors.end(), {out, lse});
    save(ctx, std::move(tensors), a);
    ctx->mark_non_differentiable({lse});
    return {out, lse};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list x = ctx->get_saved_variables();
    const SavedArguments saved = restore(ctx, x);
    const at::Tensor lse = x.back(), out = x[x.size() - 2];
    x.resize(x.size() - 2);
    if (!grads[0].defined()) return variable_list(x.size() + 2);
    Gradients gradients = dispatch_backward(x, {grads[0], out, lse}, saved.arguments, saved.bias_grad);
    gradients.emplace_back();  // of the arguments
    return gradients;
  }
};

/// Passes gradients on and refuses to be differentiated: what was computed outside autograd would count as constant.
class NoSecondDerivative : public torch::autograd::Function<NoSecondDerivative> {
 public:
  static variable_list forward(AutogradContext*, at::TensorList, const std::vector<at::Tensor>& gradients) {
    return gradients;
  }
  static variable_list backward(AutogradContext*, const variable_list&) {
    TORCH_CHECK(false, "fibottention::attention has no second derivative (double backward)");
  }
};

bool requires_grad(at::TensorList tensors) {
  if (!at::GradMode::is_enabled()) return false;
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const at::Tensor& t) { return t.defined() && t.requires_grad(); });
}

std::vector<at::Tensor> joined(at::TensorList x, const at::Tensor& another) {
  std::vector<at::Tensor> all = x.vec();
  all.push_back(another);
  return all;
}

bool has_kernel(const at::Tensor& x) { return x.device().is_cpu() || x.device().is_meta(); }

/// Types that are cast here and not by the kernel, so that torch differentiates the casts.
bool is_cast_here(const at::Tensor& x) { return x.device().is_cpu() && is_reduced(x.scalar_type()); }

}  // namespace

Outputs autograd_forward(at::TensorList x, const Arguments& a) {
  if (!has_kernel(x[0])) return composite_attention(x, a);
  if (!requires_grad(joined(x, or_undefined(a.bias)))) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return dispatch_forward(x, a);
  }
  if (is_cast_here(x[0])) {
    const auto [out, lse] = autograd_forward(cast(x, at::kFloat), with_bias_of(a, at::kFloat));
    return {out.to(x[0].scalar_type()), lse};
  }
  const variable_list results = Attention::apply(x, a.bias, with_seed(a));
  return {results[0], results[1]};
}

Gradients autograd_backward(at::TensorList x, const Results& r, const Arguments& a, bool bias_grad) {
  Gradients gradients;
  {
    const at::AutoDispatchBelowADInplaceOrView guard;
    gradients = dispatch_backward(x, r, a, bias_grad);
  }
  if (!requires_grad(joined(joined(x, r.grad_out), or_undefined(a.bias)))) return gradients;
  const at::Tensor dbias = gradients.back();
  if (!dbias.defined()) gradients.pop_back();
  Gradients sealed = NoSecondDerivative::apply(at::TensorList(joined(x, r.grad_out)), gradients);
  if (!dbias.defined()) sealed.emplace_back();
  return sealed;
}

}  // namespace fib::ops
