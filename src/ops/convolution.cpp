// SPDX-License-Identifier: Apache-2.0
#include "ops/convolution.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/convolution.h"
#include "ops/layout.h"

namespace fib::ops {
namespace {

using kernels::ConvolutionSize;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// From here on oneDNN's vectors of channels are full.
constexpr int64_t kFewChannels = 32;

ConvolutionSize convolution_size(const at::Tensor& x, const at::Tensor& weight) {
  return {x.size(0), x.size(1), weight.size(0), x.size(2), x.size(3), weight.size(2)};
}

bool has_kernel(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return plain_floats(x) && plain_floats(weight) && (!bias.defined() || plain_floats(bias)) && x.numel() > 0 &&
         std::max(weight.size(0), weight.size(1)) <= kFewChannels;
}

class ConvolutionFunction : public torch::autograd::Function<ConvolutionFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& given, const at::Tensor& given_weight,
                            const c10::optional<at::Tensor>& given_bias) {
    RECORD_FUNCTION("fibottention::convolution", std::vector<c10::IValue>());
    const at::AutoDispatchBelowADInplaceOrView below;
    const at::Tensor x = given.contiguous(), weight = given_weight.contiguous();
    const at::Tensor bias = given_bias ? given_bias->contiguous() : at::Tensor();
    const at::Tensor out = at::empty({x.size(0), weight.size(0), x.size(2), x.size(3)}, x.options());
    kernels::convolution_forward(convolution_size(x, weight),
                                 {.x = x.data_ptr<float>(),
                                  .weight = weight.data_ptr<float>(),
                                  .bias = bias.defined() ? bias.data_ptr<float>() : nullptr,
                                  .out = out.data_ptr<float>()});
    ctx->save_for_backward({x, weight});
    ctx->saved_data["bias"] = bias.defined();
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "the convolution's kernel has no second derivative (double backward)");
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], grad_out = grads[0].contiguous();
    const bool bias = ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(2);
    const at::Tensor dx = ctx->needs_input_grad(0) ? at::empty_like(x) : at::Tensor();
    const at::Tensor dweight = ctx->needs_input_grad(1) ? at::empty_like(weight) : at::Tensor();
    const at::Tensor dbias = bias ? at::empty({weight.size(0)}, weight.options()) : at::Tensor();
    const auto into = [](const at::Tensor& t) { return t.defined() ? t.data_ptr<float>() : nullptr; };
    kernels::convolution_backward(convolution_size(x, weight), {.x = x.data_ptr<float>(),
                                                                .weight = weight.data_ptr<float>(),
                                                                .grad_out = grad_out.data_ptr<float>(),
                                                                .dx = into(dx),
                                                                .dweight = into(dweight),
                                                                .dbias = into(dbias)});
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

at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (has_kernel(x, weight, bias)) {
    return ConvolutionFunction::apply(x, weight, bias.defined() ? c10::optional<at::Tensor>(bias) : c10::nullopt);
  }
  return at::conv2d(x, weight, bias, 1, weight.size(2) / 2);
}

at::Tensor doubling_convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!has_kernel(x, weight, bias)) return at::conv_transpose2d(x, weight, bias, 2, 1);
  return at::pixel_shuffle(convolution(x, quarter_weights(weight), bias.repeat_interleave(4)), 2);
}

}  // namespace fib::ops
