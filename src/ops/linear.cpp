// SPDX-License-Identifier: Apache-2.0
#include "ops/linear.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/linear.h"
#include "ops/layout.h"

namespace fib::ops {
namespace {

using kernels::LinearShape;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Fewer rows are a head's or an embedding's of single tokens, where handing out tasks costs more than it saves.
constexpr int64_t kLeastRows = 256;

LinearShape linear_shape(const at::Tensor& x, const at::Tensor& weight) {
  return {weight.size(1) == 0 ? 0 : x.numel() / weight.size(1), weight.size(1), weight.size(0)};
}

/// Only where gradients are wanted: there passes are saved. Whoever looks at what a forward calls sees torch's
/// operators.
bool has_linear_kernel(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!at::GradMode::is_enabled() || !(x.requires_grad() || weight.requires_grad())) return false;
  if (!plain_floats(x) || !plain_floats(weight) || (bias.defined() && !plain_floats(bias))) return false;
  if (weight.dim() != 2 || x.dim() < 2 || x.size(-1) != weight.size(1)) return false;  // torch says what is wrong
  const LinearShape shape = linear_shape(x, weight);
  return shape.rows >= kLeastRows && kernels::linear_fits(shape);
}

const float* data_or_null(const at::Tensor& t) { return t.defined() ? t.data_ptr<float>() : nullptr; }

at::Tensor empty_out(const at::Tensor& x, const at::Tensor& weight) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  return at::empty(sizes, x.options());
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& given, const at::Tensor& given_weight,
                            const c10::optional<at::Tensor>& bias, bool gelu) {
    RECORD_FUNCTION("fibottention::linear", std::vector<c10::IValue>());
    const at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor x = given.contiguous(), weight = given_weight.contiguous();
    const at::Tensor out = empty_out(x, weight), slope = gelu ? at::empty_like(out) : at::Tensor();
    const at::Tensor flat_bias = bias ? bias->contiguous() : at::Tensor();
    kernels::linear_forward(linear_shape(x, weight), {.x = x.data_ptr<float>(),
                                                      .weight = weight.data_ptr<float>(),
                                                      .bias = data_or_null(flat_bias),
                                                      .out = out.data_ptr<float>(),
                                                      .slope = gelu ? slope.data_ptr<float>() : nullptr});
    ctx->save_for_backward({x, weight, slope});
    ctx->saved_data["bias"] = bias.has_value();
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "the linear layer's kernel has no second derivative (double backward)");
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &slope = saved[2], grad_out = grads[0].contiguous();
    const bool has_bias = ctx->saved_data["bias"].toBool();
    const bool weights = ctx->needs_input_grad(1) || (has_bias && ctx->needs_input_grad(2));
    const at::Tensor dx = ctx->needs_input_grad(0) ? at::empty_like(x) : at::Tensor();
    const at::Tensor dweight = weights ? at::empty_like(weight) : at::Tensor();
    const at::Tensor dbias = weights && has_bias ? at::empty({weight.size(0)}, weight.options()) : at::Tensor();
    const auto into = [](const at::Tensor& t) { return t.defined() ? t.data_ptr<float>() : nullptr; };
    kernels::linear_backward(linear_shape(x, weight), {.x = x.data_ptr<float>(),
                                                       .weight = weight.data_ptr<float>(),
                                                       .grad_out = grad_out.data_ptr<float>(),
                                                       .slope = data_or_null(slope),
                                                       .dx = into(dx),
                                                       .dweight = into(dweight),
                                                       .dbias = into(dbias)});
    return {dx, dweight, dbias, at::Tensor()};
  }
};

/// A tensor that is not defined may be no argument of a torch Function.
c10::optional<at::Tensor> given(const at::Tensor& bias) {
  return bias.defined() ? c10::optional<at::Tensor>(bias) : c10::nullopt;
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!has_linear_kernel(x, weight, bias)) return at::linear(x, weight, bias);
  return LinearFunction::apply(x, weight, given(bias), false);
}

at::Tensor linear_gelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!has_linear_kernel(x, weight, bias)) return at::gelu(at::linear(x, weight, bias));
  return LinearFunction::apply(x, weight, given(bias), true);
}

}  // namespace fib::ops
