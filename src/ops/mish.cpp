// SPDX-License-Identifier: Apache-2.0
#include "ops/mish.h"

#include <torch/csrc/autograd/custom_function.h>

#include "kernels/activation.h"
#include "ops/layout.h"

namespace fib::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

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
    TORCH_CHECK(!at::GradMode::is_enabled(), "Mish's kernel has no second derivative (double backward)");
    const at::Tensor x = ctx->get_saved_variables()[0], grad_out = grads[0].contiguous(), dx = at::empty_like(x);
    kernels::mish_backward(x.data_ptr<float>(), grad_out.data_ptr<float>(), x.numel(), dx.data_ptr<float>());
    return {dx};
  }
};

}  // namespace

at::Tensor mish(const at::Tensor& x) {
  if (!plain_floats(x)) return at::mish(x);
  return MishFunction::apply(x);
}

}  // namespace fib::ops
