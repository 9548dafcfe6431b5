// SPDX-License-Identifier: Apache-2.0
#include "ops/layers.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/activation.h"
#include "kernels/convolution.h"
#include "kernels/linear.h"
#include "kernels/linear_bf16.h"
#include "ops/support.h"

namespace fib::ops {
namespace {

using kernels::ConvolutionSize;
using kernels::LinearShape;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What kernels of float32 on the CPU can read.
bool plain_floats(const at::Tensor& t) { return t.device().is_cpu() && t.scalar_type() == at::kFloat; }

/// Null for a tensor that is not defined.
float* data_of(const at::Tensor& t) { return t.defined() ? t.data_ptr<float>() : nullptr; }

at::Tensor contiguous_or_undefined(const OptionalTensor& t) { return t ? t->contiguous() : at::Tensor(); }

/// The kernels' gradients are computed outside autograd.
void refuse_second_derivative() {
  TORCH_CHECK(!at::GradMode::is_enabled(), "this layer's kernel has no second derivative (double backward)");
}

// ---- Linear ---------------------------------------------------------------------------------------------------------

/// Fewer rows are a head's or an embedding's of single tokens, where handing out tasks costs more than it saves.
constexpr int64_t kLeastRows = 256;

LinearShape linear_shape(const at::Tensor& x, const at::Tensor& weight) {
  return {weight.size(1) == 0 ? 0 : x.numel() / weight.size(1), weight.size(1), weight.size(0)};
}

/// Whether bfloat16 is asked for on this thread.
thread_local bool bfloat16_products = false;

/// Only where gradients are wanted: there passes are saved. Tracing a forward without gradients
/// sees torch's operators.
bool has_linear_kernel(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!at::GradMode::is_enabled() || !(x.requires_grad() || weight.requires_grad())) return false;
  if (!plain_floats(x) || !plain_floats(weight) || (bias.defined() && !plain_floats(bias))) return false;
  if (weight.dim() != 2 || x.dim() < 2 || x.size(-1) != weight.size(1)) return false;  // torch says what is wrong
  const LinearShape shape = linear_shape(x, weight);
  return (shape.rows >= kLeastRows || has_bfloat16_products()) && kernels::linear_fits(shape);
}

at::Tensor empty_out(const at::Tensor& x, const at::Tensor& weight) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  return at::empty(sizes, x.options());
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& given, const at::Tensor& given_weight,
                            const OptionalTensor& bias, bool gelu) {
    RECORD_FUNCTION("fibottention::linear", std::vector<c10::IValue>());
    const at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor x = given.contiguous(), weight = given_weight.contiguous();
    const at::Tensor out = empty_out(x, weight), derivative = gelu ? at::empty_like(out) : at::Tensor();
    const at::Tensor flat_bias = contiguous_or_undefined(bias);
    const bool bfloat16 = has_bfloat16_products();
    const auto product = bfloat16 ? kernels::linear_bf16_forward : kernels::linear_forward;
    product(linear_shape(x, weight), {.x = x.data_ptr<float>(),
                                      .weight = weight.data_ptr<float>(),
                                      .bias = data_of(flat_bias),
                                      .out = out.data_ptr<float>(),
                                      .derivative = data_of(derivative)});
    ctx->saved_data["bfloat16"] = bfloat16;
    ctx->save_for_backward({x, weight, derivative});
    ctx->saved_data["bias"] = bias.has_value();
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    refuse_second_derivative();
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &derivative = saved[2], grad_out = grads[0].contiguous();
    const bool has_bias = ctx->saved_data["bias"].toBool();
    const bool weights = ctx->needs_input_grad(1) || (has_bias && ctx->needs_input_grad(2));
    const at::Tensor dx = ctx->needs_input_grad(0) ? at::empty_like(x) : at::Tensor();
    const at::Tensor dweight = weights ? at::empty_like(weight) : at::Tensor();
    const at::Tensor dbias = weights && has_bias ? at::empty({weight.size(0)}, weight.options()) : at::Tensor();
    const bool bfloat16 = ctx->saved_data["bfloat16"].toBool();
    const auto products = bfloat16 ? kernels::linear_bf16_backward : kernels::linear_backward;
    products(linear_shape(x, weight), {.x = x.data_ptr<float>(),
                                       .weight = weight.data_ptr<float>(),
                                       .grad_out = grad_out.data_ptr<float>(),
                                       .derivative = data_of(derivative),
                                       .dx = data_of(dx),
                                       .dweight = data_of(dweight),
                                       .dbias = data_of(dbias)});
    return {dx, dweight, dbias, at::Tensor()};
  }
};

// ---- Mish -----------------------------------------------------------------------------------------------------------

class MishFunction : public torch::autograd::Function<MishFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& given) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor x = given.contiguous(), out = at::empty_like(x);
    kernels::mish_forward(x.data_ptr<float>(), x.numel(), out.data_ptr<float>());
    ctx->save_for_backward({x});
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    refuse_second_derivative();
    const at::Tensor x = ctx->get_saved_variables()[0], grad_out = grads[0].contiguous(), dx = at::empty_like(x);
    kernels::mish_backward(x.data_ptr<float>(), grad_out.data_ptr<float>(), x.numel(), dx.data_ptr<float>());
    return {dx};
  }
};

// ---- Convolution ----------------------------------------------------------------------------------------------------

/// From here on oneDNN's vectors of channels are full.
constexpr int64_t kFewChannels = 32;

ConvolutionSize convolution_size(const at::Tensor& x, const at::Tensor& weight) {
  return {x.size(0), x.size(1), weight.size(0), x.size(2), x.size(3), weight.size(2)};
}

bool has_convolution_kernel(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return plain_floats(x) && plain_floats(weight) && (!bias.defined() || plain_floats(bias)) && x.numel() > 0 &&
         std::max(weight.size(0), weight.size(1)) <= kFewChannels;
}

class ConvolutionFunction : public torch::autograd::Function<ConvolutionFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& given, const at::Tensor& given_weight,
                            const OptionalTensor& given_bias) {
    RECORD_FUNCTION("fibottention::convolution", std::vector<c10::IValue>());
    const at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor x = given.contiguous(), weight = given_weight.contiguous();
    const at::Tensor bias = contiguous_or_undefined(given_bias);
    const at::Tensor out = at::empty({x.size(0), weight.size(0), x.size(2), x.size(3)}, x.options());
    kernels::convolution_forward(convolution_size(x, weight), {.x = x.data_ptr<float>(),
                                                               .weight = weight.data_ptr<float>(),
                                                               .bias = data_of(bias),
                                                               .out = out.data_ptr<float>()});
    ctx->save_for_backward({x, weight});
    ctx->saved_data["bias"] = bias.defined();
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    refuse_second_derivative();
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], grad_out = grads[0].contiguous();
    const bool bias = ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(2);
    const at::Tensor dx = ctx->needs_input_grad(0) ? at::empty_like(x) : at::Tensor();
    const at::Tensor dweight = ctx->needs_input_grad(1) ? at::empty_like(weight) : at::Tensor();
    const at::Tensor dbias = bias ? at::empty({weight.size(0)}, weight.options()) : at::Tensor();
    kernels::convolution_backward(convolution_size(x, weight), {.x = x.data_ptr<float>(),
                                                                .weight = weight.data_ptr<float>(),
                                                                .grad_out = grad_out.data_ptr<float>(),
                                                                .dx = data_of(dx),
                                                                .dweight = data_of(dweight),
                                                                .dbias = data_of(dbias)});
    return {dx, dweight, dbias};
  }
};

/// A pixel becomes two, each made of the pixel and one neighbor. Which of the four weights meets the neighbor before,
/// the pixel and the neighbor behind, of the first of the two and of the second; 4 is none.
at::Tensor doubling_places(const at::Device& device) {
  return at::tensor({3, 1, 4, 4, 2, 0}, at::TensorOptions().dtype(at::kLong)).to(device);
}

/// Weights [4K,C,3,3] that give the four quarters of the doubled image, every second pixel of a line and every second
/// line, as channels.
at::Tensor quarter_weights(const at::Tensor& weight) {
  const at::Tensor places = doubling_places(weight.device()), padded = at::constant_pad_nd(weight, {0, 1, 0, 1});
  const at::Tensor spread = padded.index_select(2, places).index_select(3, places);  // [C,K,6,6]
  return spread.unflatten(3, {2, 3}).unflatten(2, {2, 3}).permute({1, 2, 4, 0, 3, 5}).flatten(0, 2);
}

}  // namespace

Bfloat16Products::Bfloat16Products(bool wanted) : before_(bfloat16_products) {
  bfloat16_products = bfloat16_products || wanted;
}

Bfloat16Products::~Bfloat16Products() { bfloat16_products = before_; }

bool has_bfloat16_products() { return bfloat16_products; }

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!has_linear_kernel(x, weight, bias)) return at::linear(x, weight, bias);
  return LinearFunction::apply(x, weight, if_defined(bias), false);
}

at::Tensor linear_gelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!has_linear_kernel(x, weight, bias)) return at::gelu(at::linear(x, weight, bias));
  return LinearFunction::apply(x, weight, if_defined(bias), true);
}

at::Tensor mish(const at::Tensor& x) {
  if (!plain_floats(x)) return at::mish(x);
  return MishFunction::apply(x);
}

at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (has_convolution_kernel(x, weight, bias)) {
    return ConvolutionFunction::apply(x, weight, if_defined(bias));
  }
  return at::conv2d(x, weight, bias, 1, weight.size(2) / 2);
}

at::Tensor doubling_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!has_convolution_kernel(x, weight, bias)) return at::conv_transpose2d(x, weight, bias, 2, 1);
  return at::pixel_shuffle(convolution(x, quarter_weights(weight), bias.repeat_interleave(4)), 2);
}

}  // namespace fib::ops
